package main

import (
	"context"
	"encoding/json"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
)

// reportStatus writes the pod's status whenever something in it has changed.
func (w *podWorker) reportStatus(ctx context.Context) {
	start := metav1.Now()
	since := map[v1.PodConditionType]v1.PodCondition{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.changed:
		}
		for {
			st := w.status(start, since)
			body, _ := json.Marshal(map[string]any{"metadata": map[string]any{"uid": w.pod.UID}, "status": st})
			_, err := w.n.client.CoreV1().Pods(w.pod.Namespace).Patch(ctx, w.pod.Name, "application/strategic-merge-patch+json", body, metav1.PatchOptions{}, "status")
			if err == nil {
				break
			}
			if apierrors.IsNotFound(err) || apierrors.IsConflict(err) || ctx.Err() != nil {
				return
			}
			klog.Warningf("pod %s/%s: status: %v", w.pod.Namespace, w.pod.Name, err)
			wait(ctx, 300*time.Millisecond)
		}
	}
}

func (w *podWorker) status(start metav1.Time, since map[v1.PodConditionType]v1.PodCondition) v1.PodStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	st := v1.PodStatus{HostIP: nodeIP, HostIPs: []v1.HostIP{{IP: nodeIP}}, StartTime: &start, QOSClass: w.pod.Status.QOSClass}
	if w.ip != "" {
		st.PodIP, st.PodIPs = w.ip, []v1.PodIP{{IP: w.ip}}
	}
	one := func(s v1.Container) v1.ContainerStatus {
		c := w.containers[s.Name]
		running := c.state.Running != nil && c.started
		return v1.ContainerStatus{Name: s.Name, Image: s.Image, ImageID: "lab://" + s.Image, ContainerID: "lab://" + string(w.pod.UID) + "/" + s.Name,
			State: c.state, LastTerminationState: c.last, RestartCount: c.restarts, Ready: c.ready, Started: &running}
	}
	initialized, ready, done, failed := true, true, 0, 0
	for _, s := range w.pod.Spec.InitContainers {
		cs := one(s)
		if t := cs.State.Terminated; t != nil && t.ExitCode == 0 {
			cs.Ready = true
		}
		initialized = initialized && cs.Ready
		st.InitContainerStatuses = append(st.InitContainerStatuses, cs)
	}
	for _, s := range w.pod.Spec.Containers {
		cs := one(s)
		ready = ready && cs.Ready
		if t := cs.State.Terminated; t != nil {
			done++
			if t.ExitCode != 0 {
				failed++
			}
		}
		if cs.State.Waiting != nil && w.message != "" && w.ip == "" {
			cs.State.Waiting.Message = w.message
		}
		st.ContainerStatuses = append(st.ContainerStatuses, cs)
	}
	st.Phase = v1.PodPending
	switch {
	case done == len(w.pod.Spec.Containers) && failed > 0:
		st.Phase = v1.PodFailed
	case done == len(w.pod.Spec.Containers):
		st.Phase = v1.PodSucceeded
	case initialized && w.ip != "":
		st.Phase = v1.PodRunning
	}
	for _, c := range []struct {
		t  v1.PodConditionType
		ok bool
	}{{v1.PodReadyToStartContainers, w.ip != ""}, {v1.PodInitialized, initialized}, {v1.ContainersReady, ready}, {v1.PodReady, ready}, {v1.PodScheduled, true}} {
		status := v1.ConditionFalse
		if c.ok {
			status = v1.ConditionTrue
		}
		old, seen := since[c.t]
		if !seen || old.Status != status {
			old = v1.PodCondition{Type: c.t, Status: status, LastTransitionTime: metav1.Now()}
			if !c.ok {
				old.Reason = "ContainersNotReady"
			}
			since[c.t] = old
		}
		st.Conditions = append(st.Conditions, old)
	}
	return st
}
