package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"

	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	apiserveroptions "k8s.io/kubernetes/cmd/kube-apiserver/app/options"
)

const (
	apiPort = "6443"
	apiURL  = "https://" + nodeIP + ":" + apiPort
)

// auditPolicy records every request once it is answered, and watches when they begin as well.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
`

// runAPIServer is the process of the API server.
func runAPIServer(args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := startLogs(); err != nil {
		return err
	}
	c := &cluster{o: o}
	p := &pki{dir: c.file("pki")}
	s := apiserveroptions.NewServerRunOptions()
	err = parse(s.Flags(), []string{
		"--advertise-address=" + nodeIP, "--bind-address=0.0.0.0", "--secure-port=" + apiPort,
		"--etcd-servers=" + etcdURL,
		"--tls-cert-file=" + p.path("serving.crt"), "--tls-private-key-file=" + p.path("serving.key"),
		"--client-ca-file=" + p.path("ca.crt"),
		"--authorization-mode=RBAC",
		"--allow-privileged=true",
		"--disable-admission-plugins=TaintNodesByCondition",
		"--service-cluster-ip-range=" + serviceCIDR + "," + serviceCIDR6,
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + p.path("service-account.crt"),
		"--service-account-signing-key-file=" + p.path("service-account.key"),
		"--requestheader-client-ca-file=" + p.path("ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-username-headers=X-Remote-User",
		"--proxy-client-cert-file=" + p.path("front-proxy-client.crt"), "--proxy-client-key-file=" + p.path("front-proxy-client.key"),
		"--kubelet-client-certificate=" + p.path("kubernetes-admin.crt"), "--kubelet-client-key=" + p.path("kubernetes-admin.key"),
		"--kubelet-preferred-address-types=InternalIP",
		"--kubelet-certificate-authority=" + p.path("ca.crt"),
		// Written before the answer goes out, and never rotated: what a client has seen is in the file.
		"--audit-policy-file=" + c.file("audit-policy.yaml"), "--audit-log-path=" + c.file("audit.jsonl"),
		"--audit-log-mode=blocking-strict", "--audit-log-maxsize=100000",
	})
	if err != nil {
		return err
	}
	if err := s.GenericServerRunOptions.ComponentGlobalsRegistry.Set(); err != nil {
		return err
	}
	done, err := s.Complete(ctx)
	if err != nil {
		return err
	}
	for _, e := range done.Validate() {
		return e
	}
	return apiserver.Run(ctx, done)
}

// apiServer is the API server seen from outside: started, killed, paused, cut off.
type apiServer struct {
	c *cluster

	mu    sync.Mutex
	cmd   *exec.Cmd     // nil while there is none
	ended chan struct{} // closed when cmd has ended
}

// start starts the process and waits until it is ready.
func (a *apiServer) start(ctx context.Context) error {
	if err := a.spawn(ctx); err != nil {
		return err
	}
	return a.c.waitReady(ctx)
}

func (a *apiServer) spawn(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cmd != nil {
		return fmt.Errorf("it runs already")
	}
	if err := os.WriteFile(a.c.file("audit-policy.yaml"), []byte(auditPolicy), 0o644); err != nil {
		return err
	}
	log, err := os.OpenFile(a.c.file("apiserver.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("/proc/self/exe", append([]string{"apiserver"}, a.c.o.args()...)...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	a.cmd, a.ended = cmd, ended
	go func() {
		err := cmd.Wait()
		close(ended)
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.cmd == cmd && ctx.Err() == nil { // nobody asked for it
			a.c.fail <- fmt.Errorf("kube-apiserver ended: %w; see %s", orNil(err), log.Name())
		}
	}()
	return nil
}

// kill ends the process with SIGKILL: no request is finished, no connection closed in order.
func (a *apiServer) kill() error {
	a.mu.Lock()
	cmd, ended := a.cmd, a.ended
	a.cmd = nil
	a.mu.Unlock()
	if cmd == nil {
		return fmt.Errorf("it does not run")
	}
	cmd.Process.Kill()
	<-ended
	return nil
}

// send sends the process a signal: SIGSTOP makes it hang, SIGCONT lets it go on.
func (a *apiServer) send(s syscall.Signal) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.cmd == nil {
		return fmt.Errorf("it does not run")
	}
	return a.cmd.Process.Signal(s)
}

// cut keeps pods and the host from the API server; the node agent, the controllers and commands in the cluster's
// namespaces go on. Packets are dropped, those of connections that exist as well; or refused.
func (a *apiServer) cut(refuse bool) error {
	verdict := "drop"
	if refuse {
		verdict = "reject with tcp reset"
	}
	if err := a.restore(); err != nil {
		return err
	}
	// The resets themselves have to get through.
	others := fmt.Sprintf("saddr != { %s, 127.0.0.1 } tcp dport %s %s", nodeIP, apiPort, verdict)
	answers := fmt.Sprintf("daddr != { %s, 127.0.0.1 } tcp sport %s tcp flags & rst == 0 %s", nodeIP, apiPort, verdict)
	return nft("table ip cut {",
		"chain in { type filter hook input priority 10; ip "+others+"; }",
		"chain out { type filter hook output priority 10; ip "+answers+"; }", "}")
}

func (a *apiServer) restore() error { return nft("add table ip cut", "delete table ip cut") }
