package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
)

// podWorker runs one pod from its sandbox to its removal.
type podWorker struct {
	n       *node
	pod     *v1.Pod // as first seen; only metadata and status change, and the status is ours
	latest  atomic.Pointer[v1.Pod]
	ip      string
	netns   string
	dir     string           // rootfs layers and volumes, on the cluster's private tmpfs
	tokens  map[string]token // by volume and place in it; filled by one goroutine at a time
	refresh chan struct{}    // what volumes show may have changed

	mu         sync.Mutex
	containers map[string]*container
	stopOnce   sync.Once
	stopping   chan struct{}
	deadline   time.Time     // set before stopping is closed
	changed    chan struct{} // something that the status shows has changed
	message    string        // why the sandbox is not there yet
}

type container struct {
	spec     v1.Container
	state    v1.ContainerState
	last     v1.ContainerState
	restarts int32
	ready    bool
	started  bool // its startup probe, if any, has succeeded
	process  *os.Process
}

func newPodWorker(n *node, pod *v1.Pod) *podWorker {
	w := &podWorker{n: n, pod: pod, containers: map[string]*container{}, tokens: map[string]token{}, refresh: make(chan struct{}, 1),
		stopping: make(chan struct{}), changed: make(chan struct{}, 1),
		netns: "pod-" + string(pod.UID)[:13], dir: filepath.Join(stateDir, string(pod.UID))}
	w.latest.Store(pod)
	for _, s := range append(append([]v1.Container{}, pod.Spec.InitContainers...), pod.Spec.Containers...) {
		w.containers[s.Name] = &container{spec: s, state: waiting("ContainerCreating", "")}
	}
	return w
}

func waiting(reason, message string) v1.ContainerState {
	return v1.ContainerState{Waiting: &v1.ContainerStateWaiting{Reason: reason, Message: message}}
}

// update takes note of new metadata, which the downward API shows.
func (w *podWorker) update(pod *v1.Pod) {
	old := w.latest.Swap(pod)
	if !maps.Equal(old.Labels, pod.Labels) || !maps.Equal(old.Annotations, pod.Annotations) {
		w.poke()
	}
}

// terminate stops the pod in order, and by force once the grace period, in seconds, is over. It may be called again
// with a shorter one.
func (w *podWorker) terminate(grace int64) {
	left := time.Duration(grace) * time.Second
	w.stopOnce.Do(func() {
		w.deadline = time.Now().Add(left)
		close(w.stopping)
	})
	time.AfterFunc(left, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		for _, c := range w.containers {
			if c.process != nil {
				c.process.Kill()
			}
		}
	})
}

// signal sends a signal to the first process of a container.
func (w *podWorker) signal(name string, s syscall.Signal) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.containers[name]
	if c == nil || c.process == nil {
		return fmt.Errorf("container %s of %s/%s does not run", name, w.pod.Namespace, w.pod.Name)
	}
	return c.process.Signal(s)
}

func (w *podWorker) touch() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

func (w *podWorker) set(name string, f func(*container)) {
	w.mu.Lock()
	f(w.containers[name])
	w.mu.Unlock()
	w.touch()
}

func (w *podWorker) run(ctx context.Context) {
	runCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-w.stopping:
			cancel()
		case <-runCtx.Done():
		}
	}()
	go w.reportStatus(ctx)
	w.touch()
	for runCtx.Err() == nil {
		err := w.makeSandbox(runCtx)
		if err == nil {
			break
		}
		klog.V(1).Infof("pod %s/%s: %v", w.pod.Namespace, w.pod.Name, err)
		w.mu.Lock()
		w.message = err.Error()
		w.mu.Unlock()
		w.touch()
		wait(runCtx, time.Second)
	}
	// Until the last container has ended: one that shuts down may still need a fresh token.
	volumesCtx, endVolumes := context.WithCancel(ctx)
	var volumes sync.WaitGroup
	volumes.Go(func() { w.keepVolumes(volumesCtx) })
	w.runContainers(runCtx)
	endVolumes()
	volumes.Wait()
	w.touch()
	if runCtx.Err() == nil { // ran to its end: keep the status until someone deletes the pod
		select {
		case <-w.stopping:
		case <-ctx.Done():
		}
	}
	w.removeSandbox()
	w.n.forget(ctx, w.pod)
}

func (w *podWorker) runContainers(ctx context.Context) {
	for _, s := range w.pod.Spec.InitContainers {
		if s.RestartPolicy != nil && *s.RestartPolicy == v1.ContainerRestartPolicyAlways { // a sidecar
			go w.runContainer(ctx, s, v1.RestartPolicyAlways)
			continue
		}
		w.runContainer(ctx, s, v1.RestartPolicyOnFailure)
	}
	var wg sync.WaitGroup
	for _, s := range w.pod.Spec.Containers {
		wg.Add(1)
		go func() { defer wg.Done(); w.runContainer(ctx, s, w.pod.Spec.RestartPolicy) }()
	}
	wg.Wait()
}

// makeSandbox gives the pod a network namespace joined to the cluster by a veth pair (routed, /32, no bridge: so every
// packet passes the host side's netfilter and kube-proxy's rules) and fills its volumes.
func (w *podWorker) makeSandbox(ctx context.Context) error {
	if w.ip == "" {
		if w.pod.Spec.HostNetwork {
			w.ip, w.netns = nodeIP, ""
		} else {
			a, veth := w.n.allocateIP(), "v"+w.netns[4:]
			err := ip(
				"netns add "+w.netns,
				"link add "+veth+" type veth peer name eth0 netns "+w.netns,
				"link set "+veth+" up",
				"route add "+a+"/32 dev "+veth+" src "+podGateway)
			if err == nil {
				err = ipIn(w.netns, "link set lo up", "link set eth0 up", "addr add "+a+"/32 dev eth0",
					"route add "+podGateway+"/32 dev eth0 scope link", "route add default via "+podGateway+" dev eth0")
			}
			if err != nil {
				ip("netns del " + w.netns)
				w.n.releaseIP(a)
				return err
			}
			w.ip = a
		}
	}
	return w.fillVolumes(ctx)
}

func (w *podWorker) removeSandbox() {
	if w.netns != "" && w.ip != "" {
		ip("netns del " + w.netns) // takes the veth pair and its route along
		w.n.releaseIP(w.ip)
	}
	os.RemoveAll(w.dir)
}
