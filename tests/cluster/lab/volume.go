package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	apiresource "k8s.io/kubernetes/pkg/api/v1/resource"
	volumeutil "k8s.io/kubernetes/pkg/volume/util"
	"k8s.io/utils/ptr"
)

// token is a projected ServiceAccount token, kept until it is due for renewal.
type token struct {
	value string
	due   time.Time
}

func (w *podWorker) volumePath(name string) string { return filepath.Join(w.dir, "volumes", name) }

// keepVolumes fills the volumes again whenever something in them may have changed, until ctx ends. What cannot be
// read any more stays as it was.
func (w *podWorker) keepVolumes(ctx context.Context) {
	for ctx.Err() == nil {
		var due <-chan time.Time
		next := time.Duration(-1)
		for _, t := range w.tokens {
			if left := max(time.Until(t.due), 0); next < 0 || left < next {
				next = left
			}
		}
		if next >= 0 {
			due = time.After(next)
		}
		select {
		case <-ctx.Done():
			return
		case <-due:
		case <-w.refresh:
		}
		if err := w.fillVolumes(ctx); err != nil {
			klog.Infof("pod %s/%s: %v", w.pod.Namespace, w.pod.Name, err)
			wait(ctx, time.Second)
			w.poke()
		}
	}
}

// poke asks keepVolumes to look again.
func (w *podWorker) poke() {
	select {
	case w.refresh <- struct{}{}:
	default:
	}
}

// shows tells whether a volume of the pod shows the named Secret or ConfigMap.
func (w *podWorker) shows(name string) bool {
	for _, v := range w.pod.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName == name || v.ConfigMap != nil && v.ConfigMap.Name == name {
			return true
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.Secret != nil && s.Secret.Name == name || s.ConfigMap != nil && s.ConfigMap.Name == name {
				return true
			}
		}
	}
	return false
}

func (w *podWorker) fillVolumes(ctx context.Context) error {
	for _, v := range w.pod.Spec.Volumes {
		if err := w.fillVolume(ctx, &v); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	return nil
}

// fillVolume writes a volume as the kubelet does: all of its files into a new directory, then one rename of the link
// `..data` that the visible files lead through. So a reader sees the old files or the new ones, and a watch on the
// directory fires once.
func (w *podWorker) fillVolume(ctx context.Context, v *v1.Volume) error {
	dir := w.volumePath(v.Name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	if v.EmptyDir != nil {
		if err := w.own(dir); err != nil {
			return err
		}
		return os.Chmod(dir, 0o2777)
	}
	files, err := w.contents(ctx, v)
	if err != nil {
		return err
	}
	writer, err := volumeutil.NewAtomicWriter(dir, w.pod.Name)
	if err != nil {
		return err
	}
	return writer.Write(files, func(data string) error {
		return filepath.WalkDir(filepath.Join(dir, data), func(path string, _ os.DirEntry, err error) error {
			if err != nil {
				return err
			}
			return w.own(path)
		})
	})
}

// own gives a file to the pod's fsGroup, if it has one.
func (w *podWorker) own(path string) error {
	sc := w.pod.Spec.SecurityContext
	if sc == nil || sc.FSGroup == nil {
		return nil
	}
	if err := os.Lchown(path, -1, int(*sc.FSGroup)); err != nil {
		return err
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.Chmod(path, st.Mode()|0o040) // the group may read
}

type files = map[string]volumeutil.FileProjection

func (w *podWorker) contents(ctx context.Context, v *v1.Volume) (files, error) {
	switch {
	case v.Secret != nil:
		into := files{}
		return into, w.projectSecret(ctx, into, v.Secret.SecretName, v.Secret.Items, v.Secret.Optional, v.Secret.DefaultMode)
	case v.ConfigMap != nil:
		into := files{}
		return into, w.projectConfigMap(ctx, into, v.ConfigMap.Name, v.ConfigMap.Items, v.ConfigMap.Optional, v.ConfigMap.DefaultMode)
	case v.DownwardAPI != nil:
		into := files{}
		return into, w.projectDownward(into, v.DownwardAPI.Items, v.DownwardAPI.DefaultMode)
	case v.Projected != nil:
		into := files{}
		for i, s := range v.Projected.Sources {
			var err error
			mode := v.Projected.DefaultMode
			switch {
			case s.Secret != nil:
				err = w.projectSecret(ctx, into, s.Secret.Name, s.Secret.Items, s.Secret.Optional, mode)
			case s.ConfigMap != nil:
				err = w.projectConfigMap(ctx, into, s.ConfigMap.Name, s.ConfigMap.Items, s.ConfigMap.Optional, mode)
			case s.DownwardAPI != nil:
				err = w.projectDownward(into, s.DownwardAPI.Items, mode)
			case s.ServiceAccountToken != nil:
				err = w.projectToken(ctx, into, fmt.Sprintf("%s/%d", v.Name, i), s.ServiceAccountToken, mode)
			default:
				err = fmt.Errorf("this projected source is not known here")
			}
			if err != nil {
				return nil, err
			}
		}
		return into, nil
	default:
		return nil, fmt.Errorf("this kind of volume is not known here")
	}
}

func (w *podWorker) projectSecret(ctx context.Context, into files, name string, items []v1.KeyToPath, optional *bool, mode *int32) error {
	s, err := w.n.secret(ctx, w.pod.Namespace, name)
	if apierrors.IsNotFound(err) && ptr.Deref(optional, false) {
		return nil
	} else if err != nil {
		return err
	}
	return project(into, s.Data, items, ptr.Deref(optional, false), mode)
}

func (w *podWorker) projectConfigMap(ctx context.Context, into files, name string, items []v1.KeyToPath, optional *bool, mode *int32) error {
	m, err := w.n.configMap(ctx, w.pod.Namespace, name)
	if apierrors.IsNotFound(err) && ptr.Deref(optional, false) {
		return nil
	} else if err != nil {
		return err
	}
	data := map[string][]byte{}
	for k, s := range m.Data {
		data[k] = []byte(s)
	}
	for k, b := range m.BinaryData {
		data[k] = b
	}
	return project(into, data, items, ptr.Deref(optional, false), mode)
}

func project(into files, data map[string][]byte, items []v1.KeyToPath, optional bool, mode *int32) error {
	if items == nil {
		for k := range data {
			items = append(items, v1.KeyToPath{Key: k, Path: k})
		}
	}
	for _, i := range items {
		b, ok := data[i.Key]
		if !ok && optional {
			continue
		} else if !ok {
			return fmt.Errorf("no key %q", i.Key)
		}
		into[i.Path] = volumeutil.FileProjection{Data: b, Mode: ptr.Deref(i.Mode, ptr.Deref(mode, 0o644))}
	}
	return nil
}

func (w *podWorker) projectDownward(into files, items []v1.DownwardAPIVolumeFile, mode *int32) error {
	for _, i := range items {
		var s string
		var err error
		if i.FieldRef != nil {
			s, err = w.field(i.FieldRef.FieldPath)
		} else {
			s, err = apiresource.ExtractResourceValueByContainerName(i.ResourceFieldRef, w.pod, i.ResourceFieldRef.ContainerName)
		}
		if err != nil {
			return err
		}
		into[i.Path] = volumeutil.FileProjection{Data: []byte(s), Mode: ptr.Deref(i.Mode, ptr.Deref(mode, 0o644))}
	}
	return nil
}

// projectToken asks for a token that is bound to the pod, and for another after 80 % of its life (or the part that
// --renew-tokens-after says, so that tests need not wait for the 600 s that a token lives at least).
func (w *podWorker) projectToken(ctx context.Context, into files, key string, p *v1.ServiceAccountTokenProjection, mode *int32) error {
	t, ok := w.tokens[key]
	if !ok || time.Now().After(t.due) {
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: p.ExpirationSeconds,
			BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: w.pod.Name, UID: w.pod.UID},
		}}
		if p.Audience != "" {
			request.Spec.Audiences = []string{p.Audience}
		}
		answer, err := w.n.client.CoreV1().ServiceAccounts(w.pod.Namespace).CreateToken(ctx, w.pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		life := time.Duration(ptr.Deref(answer.Spec.ExpirationSeconds, 3600)) * time.Second
		t = token{value: answer.Status.Token, due: time.Now().Add(time.Duration(float64(life) * w.n.c.o.renewAfter))}
		w.tokens[key] = t
	}
	file := volumeutil.FileProjection{Data: []byte(t.value), Mode: ptr.Deref(mode, 0o644)}
	// The kubelet's rule: a group that reads it, or the one user that all containers have, or anybody.
	if sc := w.pod.Spec.SecurityContext; sc != nil && sc.FSGroup != nil {
		file.Mode = 0o600
	} else if user, one := w.onlyUser(); one {
		file.Mode, file.FsUser = 0o600, &user
	}
	into[p.Path] = file
	return nil
}

// onlyUser is the user that the spec gives to all containers, if it gives them one.
func (w *podWorker) onlyUser() (int64, bool) {
	user, found := int64(0), false
	for _, c := range append(append([]v1.Container{}, w.pod.Spec.InitContainers...), w.pod.Spec.Containers...) {
		var own *int64
		if sc := w.pod.Spec.SecurityContext; sc != nil {
			own = sc.RunAsUser
		}
		if sc := c.SecurityContext; sc != nil && sc.RunAsUser != nil {
			own = sc.RunAsUser
		}
		if own == nil || found && *own != user {
			return 0, false
		}
		user, found = *own, true
	}
	return user, found
}
