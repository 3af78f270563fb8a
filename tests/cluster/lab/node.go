package main

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	listers "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// image says how a container image is run here: the folders that its root file system is laid from, the topmost first,
// and whether the host's programs and libraries are to be seen in it.
type image struct {
	Layers     []string `json:"layers"`
	Host       bool     `json:"host"`
	Entrypoint []string `json:"entrypoint"`
	User       int      `json:"user"`
	Env        []string `json:"env"`
}

type node struct {
	c          *cluster
	client     kubernetes.Interface
	images     map[string]image
	secrets    listers.SecretLister
	configMaps listers.ConfigMapLister

	mu      sync.Mutex
	workers map[types.UID]*podWorker
	nextIP  int
	usedIP  map[string]bool
}

// image finds an image by its name, whatever its tag or digest.
func (n *node) image(ref string) (image, bool) {
	ref, _, _ = strings.Cut(strings.TrimPrefix(ref, "docker.io/"), "@")
	if i := strings.LastIndex(ref, ":"); i > strings.LastIndex(ref, "/") {
		if im, ok := n.images[ref]; ok {
			return im, true
		}
		ref = ref[:i]
	}
	im, ok := n.images[ref]
	return im, ok
}

// secret and configMap read what is there now or, while the API server cannot be reached, what was there last.
func (n *node) secret(ctx context.Context, namespace, name string) (*v1.Secret, error) {
	s, err := n.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		if seen, missing := n.secrets.Secrets(namespace).Get(name); missing == nil {
			return seen, nil
		}
	}
	return s, err
}

func (n *node) configMap(ctx context.Context, namespace, name string) (*v1.ConfigMap, error) {
	m, err := n.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		if seen, missing := n.configMaps.ConfigMaps(namespace).Get(name); missing == nil {
			return seen, nil
		}
	}
	return m, err
}

// allocateIP takes the next free pod address, not reusing one soon.
func (n *node) allocateIP() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for {
		n.nextIP = (n.nextIP + 1) % 60000
		a := fmt.Sprintf("10.244.%d.%d", n.nextIP/250, n.nextIP%250+2)
		if !n.usedIP[a] {
			n.usedIP[a] = true
			return a
		}
	}
}

func (n *node) releaseIP(a string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.usedIP, a)
}

func readImages(file string) (map[string]image, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	images := map[string]image{}
	if err := json.Unmarshal(b, &images); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return images, nil
}

// register makes the Node, with more room than any pod asks for.
func (n *node) register(ctx context.Context) error {
	room := v1.ResourceList{
		v1.ResourceCPU: resource.MustParse("1000"), v1.ResourceMemory: resource.MustParse("4Ti"),
		v1.ResourcePods: resource.MustParse("10000"), v1.ResourceEphemeralStorage: resource.MustParse("4Ti"),
	}
	now := metav1.Now()
	condition := func(t v1.NodeConditionType, s v1.ConditionStatus) v1.NodeCondition {
		return v1.NodeCondition{Type: t, Status: s, Reason: "Lab", LastHeartbeatTime: now, LastTransitionTime: now}
	}
	// Status is stripped on create for most kinds, but not for nodes.
	_, err := n.client.CoreV1().Nodes().Create(ctx, &v1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{
			v1.LabelHostname: nodeName, v1.LabelOSStable: "linux", v1.LabelArchStable: "amd64"}},
		Spec: v1.NodeSpec{PodCIDR: podCIDR, PodCIDRs: []string{podCIDR}},
		Status: v1.NodeStatus{
			Capacity: room, Allocatable: room,
			Conditions: []v1.NodeCondition{condition(v1.NodeReady, v1.ConditionTrue), condition(v1.NodeMemoryPressure, v1.ConditionFalse),
				condition(v1.NodeDiskPressure, v1.ConditionFalse), condition(v1.NodePIDPressure, v1.ConditionFalse)},
			Addresses:       []v1.NodeAddress{{Type: v1.NodeInternalIP, Address: nodeIP}, {Type: v1.NodeHostName, Address: nodeName}},
			DaemonEndpoints: v1.NodeDaemonEndpoints{KubeletEndpoint: v1.DaemonEndpoint{Port: 10250}},
			NodeInfo:        v1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.37.2", ContainerRuntimeVersion: "lab://1"},
		},
	}, metav1.CreateOptions{})
	return err
}

// startNode registers the node and follows the pods bound to it, and what their volumes show.
func startNode(ctx context.Context, c *cluster, client kubernetes.Interface) (*node, error) {
	images, err := readImages(c.o.images)
	if err != nil {
		return nil, err
	}
	n := &node{c: c, client: client, images: images, workers: map[types.UID]*podWorker{}, usedIP: map[string]bool{}}
	if err := n.register(ctx); err != nil {
		return nil, err
	}
	all := informers.NewSharedInformerFactory(client, 0).Core().V1()
	n.secrets, n.configMaps = all.Secrets().Lister(), all.ConfigMaps().Lister()
	own := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTweakListOptions(func(o *metav1.ListOptions) {
		o.FieldSelector = fields.OneTermEqualSelector("spec.nodeName", nodeName).String()
	})).Core().V1().Pods().Informer()
	for _, i := range []struct {
		informer cache.SharedInformer
		handler  cache.ResourceEventHandler
	}{
		{all.Secrets().Informer(), n.volumeSource()},
		{all.ConfigMaps().Informer(), n.volumeSource()},
		{own, cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { n.observe(ctx, o.(*v1.Pod)) },
			UpdateFunc: func(_, o any) { n.observe(ctx, o.(*v1.Pod)) },
			DeleteFunc: func(o any) { // deleted by force: the worker still has to end
				if d, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = d.Obj
				}
				if w := n.worker(o.(*v1.Pod).UID); w != nil {
					w.terminate(0)
				}
			},
		}},
	} {
		if _, err := i.informer.AddEventHandler(i.handler); err != nil {
			return nil, err
		}
		go i.informer.Run(ctx.Done())
	}
	go n.serveKubelet(ctx)
	return n, nil
}

func (n *node) worker(uid types.UID) *podWorker {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.workers[uid]
}

// volumeSource tells pods that something that their volumes show has changed.
func (n *node) volumeSource() cache.ResourceEventHandler {
	changed := func(o any) {
		object, ok := o.(metav1.Object)
		if !ok {
			return // deleted: volumes keep what they had
		}
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, w := range n.workers {
			if w.pod.Namespace == object.GetNamespace() && w.shows(object.GetName()) {
				w.poke()
			}
		}
	}
	return cache.ResourceEventHandlerFuncs{AddFunc: changed, UpdateFunc: func(_, o any) { changed(o) }}
}

// observe starts a worker for a new pod, and tells a pod's worker of changes and when it is to go.
func (n *node) observe(ctx context.Context, pod *v1.Pod) {
	n.mu.Lock()
	w := n.workers[pod.UID]
	if w == nil && pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
		w = newPodWorker(n, pod)
		n.workers[pod.UID] = w
		go func() {
			w.run(ctx)
			n.mu.Lock()
			delete(n.workers, pod.UID)
			n.mu.Unlock()
		}()
	}
	n.mu.Unlock()
	if w != nil {
		w.update(pod)
	}
	if pod.DeletionTimestamp == nil {
		return
	}
	if w == nil { // already finished
		n.forget(ctx, pod)
		return
	}
	grace := int64(30)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = *pod.DeletionGracePeriodSeconds
	}
	w.terminate(grace)
}

// forget removes a stopped pod from the API, as the kubelet does.
func (n *node) forget(ctx context.Context, pod *v1.Pod) {
	zero := int64(0)
	for ctx.Err() == nil {
		err := n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
			GracePeriodSeconds: &zero, Preconditions: &metav1.Preconditions{UID: &pod.UID}})
		if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return
		}
		klog.V(1).Infof("pod %s/%s: delete: %v", pod.Namespace, pod.Name, err)
		wait(ctx, time.Second)
	}
}

// signal sends a signal to the first process of a container.
func (n *node) signal(namespace, pod, container string, s syscall.Signal) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.workers {
		if w.pod.Namespace == namespace && w.pod.Name == pod {
			return w.signal(container, s)
		}
	}
	return fmt.Errorf("no pod %s/%s here", namespace, pod)
}

func (n *node) logFile(ns, pod, container string) string {
	return filepath.Join(n.c.file("logs"), ns+"_"+pod+"_"+container+".log")
}

// serveKubelet answers what `kubectl logs` asks of a kubelet: the whole log, and what is added to it with -f.
func (n *node) serveKubelet(ctx context.Context) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /containerLogs/{ns}/{pod}/{container}", func(w http.ResponseWriter, r *http.Request) {
		f, err := os.Open(n.logFile(r.PathValue("ns"), r.PathValue("pod"), r.PathValue("container")))
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		defer f.Close()
		for {
			if _, err := io.Copy(w, f); err != nil || r.URL.Query().Get("follow") != "true" || r.Context().Err() != nil {
				return
			}
			w.(http.Flusher).Flush()
			wait(r.Context(), 100*time.Millisecond)
		}
	})
	s := &http.Server{Addr: nodeIP + ":10250", Handler: mux, TLSConfig: &tls.Config{}}
	go func() { <-ctx.Done(); s.Close() }()
	p := n.c.pki
	if err := s.ListenAndServeTLS(p.path("serving.crt"), p.path("serving.key")); err != nil && ctx.Err() == nil {
		klog.Errorf("kubelet endpoint: %v", err)
	}
}
