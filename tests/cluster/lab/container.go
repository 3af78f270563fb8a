package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
	"k8s.io/utils/ptr"

	"gatehouse.dev/lab/podspec"
)

// refusal is why a container cannot be started as its pod asks for; its reason is the kubelet's.
type refusal struct{ reason, message string }

func (r refusal) Error() string { return r.message }

// runContainer starts a container, again and again as policy says, until ctx ends.
func (w *podWorker) runContainer(ctx context.Context, c v1.Container, policy v1.RestartPolicy) {
	backoff := time.Second
	for ctx.Err() == nil {
		started := time.Now()
		code, err := w.runOnce(ctx, c)
		if err != nil {
			reason := "CreateContainerError"
			if r := (refusal{}); errors.As(err, &r) {
				reason = r.reason
			}
			w.set(c.Name, func(s *container) { s.state, s.ready = waiting(reason, err.Error()), false })
			wait(ctx, backoff)
			continue
		}
		end := v1.ContainerState{Terminated: &v1.ContainerStateTerminated{ExitCode: int32(code), Reason: map[bool]string{true: "Completed", false: "Error"}[code == 0],
			StartedAt: metav1.NewTime(started), FinishedAt: metav1.Now()}}
		again := ctx.Err() == nil && (policy == v1.RestartPolicyAlways || policy == v1.RestartPolicyOnFailure && code != 0)
		w.set(c.Name, func(s *container) {
			s.state, s.ready, s.started, s.process = end, false, false, nil
			if again {
				s.last, s.state = end, waiting("CrashLoopBackOff", "")
				s.restarts++
			}
		})
		if !again {
			return
		}
		wait(ctx, backoff)
		if backoff = backoff * 2; backoff > 30*time.Second || time.Since(started) > time.Minute {
			backoff = time.Second
		}
	}
}

// runOnce runs a container to its end and gives its exit code, as a shell would: 128 and the signal, if it was one.
func (w *podWorker) runOnce(ctx context.Context, c v1.Container) (int, error) {
	spec, err := w.containerSpec(ctx, &c)
	if err != nil {
		return 0, err
	}
	if err := os.RemoveAll(spec.Dir); err != nil { // what an earlier run wrote is gone
		return 0, err
	}
	b, err := json.Marshal(spec)
	if err != nil {
		return 0, err
	}
	if err := os.MkdirAll(w.n.c.file("logs"), 0o755); err != nil {
		return 0, err
	}
	log, err := os.OpenFile(w.n.logFile(w.pod.Namespace, w.pod.Name, c.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	if err := log.Chmod(0o666); err != nil { // so that any user in the container can open /dev/stdout
		return 0, err
	}
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(filepath.Join(filepath.Dir(self), "podinit"))
	cmd.Env = []string{"PODINIT_SPEC=" + string(b)}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC, Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	w.set(c.Name, func(s *container) {
		s.process, s.ready, s.started = cmd.Process, false, false
		s.state = v1.ContainerState{Running: &v1.ContainerStateRunning{StartedAt: metav1.Now()}}
	})
	exited := make(chan struct{})
	stop := func(deadline time.Time) { // the hook and SIGTERM share the grace period, as in the kubelet
		w.preStop(&c, cmd.Process.Pid, spec, exited, time.Until(deadline))
		cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-exited:
		case <-time.After(max(time.Until(deadline), 2*time.Second)):
			cmd.Process.Kill()
		}
	}
	go func() {
		select {
		case <-exited:
		case <-ctx.Done():
			stop(w.deadline)
		}
	}()
	w.startProbes(exited, c, cmd.Process.Pid, spec, func(p *v1.Probe) {
		grace := ptr.Deref(p.TerminationGracePeriodSeconds, ptr.Deref(w.pod.Spec.TerminationGracePeriodSeconds, 30))
		go stop(time.Now().Add(time.Duration(grace) * time.Second))
	})
	cmd.Wait()
	close(exited)
	if s := cmd.ProcessState.Sys().(syscall.WaitStatus); s.Signaled() {
		return 128 + int(s.Signal()), nil
	}
	return cmd.ProcessState.ExitCode(), nil
}

// containerSpec says what podinit has to do for a container.
func (w *podWorker) containerSpec(ctx context.Context, c *v1.Container) (*podspec.Spec, error) {
	im, ok := w.n.image(c.Image)
	if !ok {
		return nil, refusal{"ErrImagePull", fmt.Sprintf("there is no image %s among those of the cluster", c.Image)}
	}
	env, mapping, err := w.environment(ctx, c, im)
	if err != nil {
		return nil, refusal{"CreateContainerConfigError", err.Error()}
	}
	argv := im.Entrypoint
	if len(c.Command) > 0 {
		argv = c.Command
	}
	argv = slices.Concat(argv, c.Args)
	for i := range argv {
		argv[i] = expansion.Expand(argv[i], mapping)
	}
	search := w.pod.Namespace + ".svc.cluster.local svc.cluster.local cluster.local"
	spec := &podspec.Spec{
		Netns: w.netns, Hostname: w.pod.Name, Layers: im.Layers, Host: im.Host, Dir: filepath.Join(w.dir, "containers", c.Name),
		Argv: argv, Env: env, Cwd: c.WorkingDir, UID: im.User, GID: im.User,
		Files: map[string]string{
			"/etc/hosts":       "127.0.0.1 localhost\n" + w.ip + " " + w.pod.Name + "\n",
			"/etc/resolv.conf": "nameserver " + dnsIP + "\nsearch " + search + "\noptions ndots:5\n",
		},
	}
	if err := w.secure(spec, c); err != nil {
		return nil, err
	}
	mounts := slices.Clone(c.VolumeMounts)
	slices.SortStableFunc(mounts, func(a, b v1.VolumeMount) int { return cmp.Compare(len(a.MountPath), len(b.MountPath)) })
	for _, m := range mounts {
		source := filepath.Join(w.volumePath(m.Name), m.SubPath)
		if _, err := os.Stat(source); os.IsNotExist(err) { // a sub-path that nobody has made yet
			if err := os.MkdirAll(source, 0o777); err != nil {
				return nil, err
			}
		}
		spec.Mounts = append(spec.Mounts, podspec.Mount{Source: source, Target: m.MountPath, ReadOnly: m.ReadOnly})
	}
	return spec, nil
}

// secure applies the security contexts of the pod and of the container, which comes first.
func (w *podWorker) secure(spec *podspec.Spec, c *v1.Container) error {
	pod, own := ptr.Deref(w.pod.Spec.SecurityContext, v1.PodSecurityContext{}), ptr.Deref(c.SecurityContext, v1.SecurityContext{})
	if user := cmp.Or(own.RunAsUser, pod.RunAsUser); user != nil {
		spec.UID, spec.GID = int(*user), 0 // what a runtime does for a user that no /etc/passwd knows
	}
	if group := cmp.Or(own.RunAsGroup, pod.RunAsGroup); group != nil {
		spec.GID = int(*group)
	}
	if ptr.Deref(cmp.Or(own.RunAsNonRoot, pod.RunAsNonRoot), false) && spec.UID == 0 {
		return refusal{"CreateContainerConfigError", "container has runAsNonRoot and image will run as root"}
	}
	for _, g := range pod.SupplementalGroups {
		spec.Groups = append(spec.Groups, int(g))
	}
	if pod.FSGroup != nil {
		spec.Groups = append(spec.Groups, int(*pod.FSGroup))
	}
	spec.ReadOnly = ptr.Deref(own.ReadOnlyRootFilesystem, false)
	spec.NoNewPrivileges = !ptr.Deref(own.AllowPrivilegeEscalation, true)
	if own.Capabilities != nil {
		spec.DropCapabilities = slices.ContainsFunc(own.Capabilities.Drop, func(c v1.Capability) bool { return strings.EqualFold(string(c), "all") })
		spec.KeepBindService = slices.Contains(own.Capabilities.Add, "NET_BIND_SERVICE")
	}
	spec.Sysctls = map[string]string{}
	for _, s := range pod.Sysctls {
		spec.Sysctls[s.Name] = s.Value
	}
	return nil
}
