package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/klog/v2"

	"gatehouse.dev/lab/podspec"
)

// probeClient is what the kubelet's HTTP probes are: no keep-alive, certificates not looked at, redirects not followed.
var probeClient = &http.Client{
	Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext: (&net.Dialer{}).DialContext},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (w *podWorker) httpAction(ctx context.Context, c *v1.Container, h *v1.HTTPGetAction) error {
	scheme, host := strings.ToLower(string(h.Scheme)), h.Host
	if scheme == "" {
		scheme = "http"
	}
	if host == "" {
		host = w.ip
	}
	path := h.Path
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	r, err := http.NewRequestWithContext(ctx, "GET", fmt.Sprintf("%s://%s%s", scheme, net.JoinHostPort(host, port(h.Port, c)), path), nil)
	if err != nil {
		return err
	}
	r.Header.Set("User-Agent", "kube-probe/1.37")
	for _, x := range h.HTTPHeaders {
		r.Header.Add(x.Name, x.Value)
		if strings.EqualFold(x.Name, "Host") {
			r.Host = x.Value
		}
	}
	resp, err := probeClient.Do(r)
	if err != nil {
		return err
	}
	resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode >= 400 {
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	return nil
}

func port(p intstr.IntOrString, c *v1.Container) string {
	if p.Type == intstr.String {
		for _, q := range c.Ports {
			if q.Name == p.StrVal {
				return strconv.Itoa(int(q.ContainerPort))
			}
		}
	}
	return p.String()
}

// execInContainer runs a command in the container whose first process is pid, as its user and with its environment.
func execInContainer(ctx context.Context, pid int, s *podspec.Spec, argv []string) error {
	args := []string{"-t", strconv.Itoa(pid), "-m", "-n", "-p", "-u", "-i", "-S", strconv.Itoa(s.UID), "-G", strconv.Itoa(s.GID), "--"}
	cmd := exec.CommandContext(ctx, "nsenter", append(args, argv...)...)
	cmd.Env = s.Env
	for _, e := range s.Env { // exec.Command looked nsenter up on our own PATH already
		if strings.HasPrefix(e, "PATH=") {
			cmd.Env = append(cmd.Env, e)
		}
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%v: %s", err, strings.TrimSpace(out.String()))
	}
	return nil
}

// handle does one probe attempt.
func (w *podWorker) handle(c *v1.Container, pid int, s *podspec.Spec, p *v1.Probe) error {
	ctx, cancel := context.WithTimeout(context.Background(), max(time.Duration(p.TimeoutSeconds)*time.Second, time.Second))
	defer cancel()
	switch {
	case p.HTTPGet != nil:
		return w.httpAction(ctx, c, p.HTTPGet)
	case p.TCPSocket != nil:
		host := p.TCPSocket.Host
		if host == "" {
			host = w.ip
		}
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(host, port(p.TCPSocket.Port, c)))
		if err == nil {
			conn.Close()
		}
		return err
	case p.Exec != nil:
		return execInContainer(ctx, pid, s, p.Exec.Command)
	case p.GRPC != nil:
		conn, err := grpc.NewClient(net.JoinHostPort(w.ip, strconv.Itoa(int(p.GRPC.Port))), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return err
		}
		defer conn.Close()
		service := ""
		if p.GRPC.Service != nil {
			service = *p.GRPC.Service
		}
		r, err := healthpb.NewHealthClient(conn).Check(ctx, &healthpb.HealthCheckRequest{Service: service})
		if err == nil && r.Status != healthpb.HealthCheckResponse_SERVING {
			err = fmt.Errorf("health: %v", r.Status)
		}
		return err
	}
	return nil
}

// watchProbe tries a probe again and again and reports each change of its settled result, by the thresholds.
// While nothing has succeeded yet a failed try is followed by another after at most 200 ms when eager, which
// makes pods ready sooner than a kubelet would and breaks nothing: thresholds still count at the probe's period.
func (w *podWorker) watchProbe(exited <-chan struct{}, c *v1.Container, pid int, s *podspec.Spec, p *v1.Probe, eager bool, result func(bool, error) (stop bool)) {
	period := max(time.Duration(p.PeriodSeconds)*time.Second, time.Second)
	good, bad := max(int(p.SuccessThreshold), 1), max(int(p.FailureThreshold), 1)
	ok, n, ever := false, 0, false
	delay, lastCounted := max(time.Duration(p.InitialDelaySeconds)*time.Second, 50*time.Millisecond), time.Time{}
	for {
		select {
		case <-exited:
			return
		case <-time.After(delay):
		}
		err := w.handle(c, pid, s, p)
		delay = period
		if err != nil && eager && !ever {
			delay = min(period, 200*time.Millisecond)
			if time.Since(lastCounted) < period {
				continue
			}
		}
		lastCounted = time.Now()
		ever = ever || err == nil
		if (err == nil) != ok {
			ok, n = err == nil, 0
		}
		if n++; n == map[bool]int{true: good, false: bad}[ok] {
			if result(ok, err) {
				return
			}
		}
	}
}

// startProbes follows a running container's probes: readiness and liveness begin when the startup probe has
// succeeded; a failed liveness or startup probe ends the container (its restart policy does the rest).
func (w *podWorker) startProbes(exited <-chan struct{}, c v1.Container, pid int, s *podspec.Spec, kill func(*v1.Probe)) {
	fail := func(kind string, p *v1.Probe) func(bool, error) bool {
		return func(ok bool, err error) bool {
			if !ok {
				klog.Infof("pod %s/%s: container %s: %s probe failed, killing it: %v", w.pod.Namespace, w.pod.Name, c.Name, kind, err)
				kill(p)
			}
			return !ok
		}
	}
	rest := func() {
		w.set(c.Name, func(x *container) { x.started, x.ready = true, c.ReadinessProbe == nil && x.process != nil })
		if c.ReadinessProbe != nil {
			go w.watchProbe(exited, &c, pid, s, c.ReadinessProbe, true, func(ok bool, _ error) bool {
				w.set(c.Name, func(x *container) { x.ready = ok && x.process != nil })
				return false
			})
		}
		if c.LivenessProbe != nil {
			go w.watchProbe(exited, &c, pid, s, c.LivenessProbe, false, fail("liveness", c.LivenessProbe))
		}
	}
	if c.StartupProbe == nil {
		rest()
		return
	}
	go w.watchProbe(exited, &c, pid, s, c.StartupProbe, true, func(ok bool, err error) bool {
		if ok {
			rest()
			return true
		}
		return fail("startup", c.StartupProbe)(ok, err)
	})
}

// preStop runs the container's hook for at most the pod's grace period.
func (w *podWorker) preStop(c *v1.Container, pid int, s *podspec.Spec, exited <-chan struct{}, grace time.Duration) {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	go func() {
		select {
		case <-exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	var err error
	switch h := c.Lifecycle.PreStop; {
	case h.Exec != nil:
		err = execInContainer(ctx, pid, s, h.Exec.Command)
	case h.HTTPGet != nil:
		err = w.httpAction(ctx, c, h.HTTPGet)
	case h.Sleep != nil:
		wait(ctx, time.Duration(h.Sleep.Seconds)*time.Second)
	}
	if err != nil {
		klog.Infof("pod %s/%s: container %s: preStop: %v", w.pod.Namespace, w.pod.Name, c.Name, err)
	}
}
