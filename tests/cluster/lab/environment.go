package main

import (
	"context"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	apiresource "k8s.io/kubernetes/pkg/api/v1/resource"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

// field resolves a downward API path.
func (w *podWorker) field(path string) (string, error) {
	switch path {
	case "spec.nodeName":
		return nodeName, nil
	case "spec.serviceAccountName":
		return w.pod.Spec.ServiceAccountName, nil
	case "status.hostIP", "status.hostIPs":
		return nodeIP, nil
	case "status.podIP", "status.podIPs":
		return w.ip, nil
	}
	return fieldpath.ExtractFieldPathAsString(w.latest.Load(), path)
}

func (w *podWorker) environment(ctx context.Context, c *v1.Container, im image) ([]string, func(string) string, error) {
	env := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOSTNAME": w.pod.Name,
		"HOME": "/", "KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
	for _, e := range im.Env {
		k, v, _ := strings.Cut(e, "=")
		env[k] = v
	}
	ns := w.pod.Namespace
	optional := func(o *bool) bool { return o != nil && *o }
	for _, from := range c.EnvFrom {
		if r := from.ConfigMapRef; r != nil {
			m, err := w.n.configMap(ctx, ns, r.Name)
			if err != nil && !optional(r.Optional) {
				return nil, nil, err
			}
			for k, v := range m.Data {
				env[from.Prefix+k] = v
			}
		}
		if r := from.SecretRef; r != nil {
			s, err := w.n.secret(ctx, ns, r.Name)
			if err != nil && !optional(r.Optional) {
				return nil, nil, err
			}
			for k, v := range s.Data {
				env[from.Prefix+k] = string(v)
			}
		}
	}
	mapping := expansion.MappingFuncFor(env)
	for _, e := range c.Env {
		var err error
		value := expansion.Expand(e.Value, mapping)
		if f := e.ValueFrom; f != nil {
			switch {
			case f.FieldRef != nil:
				value, err = w.field(f.FieldRef.FieldPath)
			case f.ResourceFieldRef != nil:
				value, err = apiresource.ExtractContainerResourceValue(f.ResourceFieldRef, c)
			case f.ConfigMapKeyRef != nil:
				var m *v1.ConfigMap
				if m, err = w.n.configMap(ctx, ns, f.ConfigMapKeyRef.Name); err == nil {
					value = m.Data[f.ConfigMapKeyRef.Key]
				} else if optional(f.ConfigMapKeyRef.Optional) {
					continue
				}
			case f.SecretKeyRef != nil:
				var s *v1.Secret
				if s, err = w.n.secret(ctx, ns, f.SecretKeyRef.Name); err == nil {
					value = string(s.Data[f.SecretKeyRef.Key])
				} else if optional(f.SecretKeyRef.Optional) {
					continue
				}
			}
		}
		if err != nil {
			return nil, nil, fmt.Errorf("env %s: %w", e.Name, err)
		}
		env[e.Name] = value
	}
	var list []string
	for k, v := range env {
		list = append(list, k+"="+v)
	}
	return list, mapping, nil
}
