package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/util/compatibility"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/logs"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
)

// inner is process 1 of the cluster's namespaces. It does not reap strangers: a general wait would steal the exit
// codes of its own children, and each container has a PID namespace of its own, so orphans are rare.
func inner(args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	start := time.Now()
	report := os.NewFile(4, "report")
	syscall.CloseOnExec(3)
	syscall.CloseOnExec(4)
	say := func(format string, a ...any) {
		fmt.Fprintf(report, format+"\n", a...)
		klog.Infof("lab: %.2fs "+format, append([]any{time.Since(start).Seconds()}, a...)...)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := startLogs(); err != nil {
		return err
	}
	if err := setupNamespaces(); err != nil {
		return err
	}
	c := &cluster{o: o, fail: make(chan error, 8)}
	if err := c.writeCredentials(); err != nil {
		return err
	}
	if err := c.startEtcd(ctx); err != nil {
		return fmt.Errorf("etcd: %w", err)
	}
	say("etcd ready")
	c.api = &apiServer{c: c}
	if err := c.api.start(ctx); err != nil {
		return fmt.Errorf("kube-apiserver: %w", err)
	}
	go c.serveHostListener(os.NewFile(3, "listener"))
	say("kube-apiserver ready")

	config, err := clientcmd.BuildConfigFromFlags("", c.file("admin.kubeconfig"))
	if err != nil {
		return err
	}
	config.QPS, config.Burst = -1, -1
	config.ContentType = "application/vnd.kubernetes.protobuf"
	config.UserAgent = "lab"
	client := kubernetes.NewForConfigOrDie(config)
	for _, part := range []struct {
		name  string
		start func(context.Context) error
	}{
		{"kube-controller-manager", c.startControllerManager},
		{"kube-scheduler", c.startScheduler},
		{"node", func(ctx context.Context) (err error) { c.node, err = startNode(ctx, c, client); return }},
		{"kube-proxy", c.startProxy},
		{"load balancer", func(ctx context.Context) error { return startLB(ctx, client) }},
		{"control socket", c.serveControl},
	} {
		if err := part.start(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
		say("%s started", part.name)
	}
	for ctx.Err() == nil { // pods need it
		if _, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{}); err == nil {
			break
		}
		wait(ctx, 20*time.Millisecond)
	}
	say("ready")
	select {
	case <-ctx.Done():
		return nil
	case err := <-c.fail:
		say("failed: %v", err)
		return err
	}
}

func startLogs() error {
	lc := logsapi.NewLoggingConfiguration()
	lc.Verbosity = 1
	logs.InitLogs()
	return logsapi.ValidateAndApply(lc, compatibility.DefaultComponentGlobalsRegistry.FeatureGateFor(basecompatibility.DefaultKubeComponent))
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// waitReady waits until the API server says that it is ready.
func (c *cluster) waitReady(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.file("admin.kubeconfig"))
	if err != nil {
		return err
	}
	hc, err := rest.HTTPClientFor(config)
	if err != nil {
		return err
	}
	hc.Timeout = time.Second
	for {
		if r, err := hc.Get(apiURL + "/readyz"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-c.fail:
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// serveHostListener joins connections from the host's loopback to the API server. They come from an address of their
// own, so that they can be cut off.
func (c *cluster) serveHostListener(f *os.File) {
	l, err := net.FileListener(f)
	if err != nil {
		c.fail <- err
		return
	}
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(hostIP)}}
	for {
		in, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer in.Close()
			out, err := dialer.Dial("tcp", nodeIP+":"+apiPort)
			if err != nil {
				in.(*net.TCPConn).SetLinger(0) // as refused as it can be
				return
			}
			defer out.Close()
			go func() {
				io.Copy(out, in)
				out.(*net.TCPConn).CloseWrite()
			}()
			if _, err := io.Copy(in, out); err != nil {
				in.(*net.TCPConn).SetLinger(0)
			}
		}()
	}
}
