package main

import (
	"context"
	"crypto/x509/pkix"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"
	"go.etcd.io/etcd/server/v3/embed"
	cliflag "k8s.io/component-base/cli/flag"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	kcmoptions "k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	scheduleroptions "k8s.io/kubernetes/cmd/kube-scheduler/app/options"
)

const etcdURL = "http://127.0.0.1:2379"

// controllers is what the controller manager runs: no cloud, no volumes, no certificates, and no
// node-lifecycle (the one node is always well).
const controllers = "namespace-controller,garbage-collector-controller,endpoints-controller,endpointslice-controller," +
	"endpointslice-mirroring-controller,deployment-controller,replicaset-controller,daemonset-controller," +
	"statefulset-controller,job-controller,serviceaccount-controller,root-ca-certificate-publisher-controller," +
	"clusterrole-aggregation-controller,resourcequota-controller,disruption-controller," +
	"horizontal-pod-autoscaler-controller,pod-garbage-collector-controller,service-cidr-controller," +
	"validatingadmissionpolicy-status-controller,ttl-after-finished-controller"

type cluster struct {
	o    *options
	pki  *pki
	api  *apiServer
	node *node
	fail chan error // a part that nothing works without has ended
}

func (c *cluster) file(name string) string { return filepath.Join(c.o.dir, name) }

func (c *cluster) writeCredentials() error {
	p, err := newPKI(c.file("pki"))
	if err != nil {
		return err
	}
	c.pki = p
	names := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost", nodeName}
	ips := []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP(nodeIP), net.ParseIP("10.96.0.1")}
	for _, e := range []error{
		p.issue("serving", pkix.Name{CommonName: "kube-apiserver"}, names, ips),
		p.issue("front-proxy-client", pkix.Name{CommonName: "front-proxy-client"}, nil, nil),
		p.issue("service-account", pkix.Name{CommonName: "service-account"}, nil, nil),
		p.kubeconfig(c.file("admin.kubeconfig"), apiURL, "kubernetes-admin", "system:masters"),
		p.kubeconfig(c.file("host.kubeconfig"), fmt.Sprintf("https://127.0.0.1:%d", c.o.port), "kubernetes-admin"),
		p.kubeconfig(c.file("kcm.kubeconfig"), apiURL, "system:kube-controller-manager"),
		p.kubeconfig(c.file("scheduler.kubeconfig"), apiURL, "system:kube-scheduler"),
		p.kubeconfig(c.file("proxy.kubeconfig"), apiURL, "system:kube-proxy"),
	} {
		if e != nil {
			return e
		}
	}
	return nil
}

func (c *cluster) startEtcd(ctx context.Context) error {
	client, _ := url.Parse(etcdURL)
	peer, _ := url.Parse("http://127.0.0.1:2380")
	cfg := embed.NewConfig()
	cfg.Dir = c.file("etcd")
	cfg.ListenClientUrls, cfg.AdvertiseClientUrls = []url.URL{*client}, []url.URL{*client}
	cfg.ListenPeerUrls, cfg.AdvertisePeerUrls = []url.URL{*peer}, []url.URL{*peer}
	cfg.InitialCluster = cfg.Name + "=" + peer.String()
	cfg.UnsafeNoFsync = true // the data is thrown away
	cfg.LogLevel = "warn"
	cfg.LogOutputs = []string{"stderr"}
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		e.Close()
	}()
	select {
	case <-e.Server.ReadyNotify():
		return nil
	case err := <-e.Err():
		return err
	case <-time.After(30 * time.Second):
		return fmt.Errorf("etcd not ready")
	}
}

// parse fills a component's options from its own command-line flags, the way its command would.
func parse(sets cliflag.NamedFlagSets, args []string) error {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	for _, f := range sets.FlagSets {
		fs.AddFlagSet(f)
	}
	return fs.Parse(args)
}

func (c *cluster) startControllerManager(ctx context.Context) error {
	s, err := kcmoptions.NewKubeControllerManagerOptions()
	if err != nil {
		return err
	}
	flags := s.Flags(kcm.KnownControllers(), kcm.ControllersDisabledByDefault(), kcm.ControllerAliases())
	s.ParsedFlags = &flags
	kc := c.file("kcm.kubeconfig")
	err = parse(flags, []string{
		"--kubeconfig=" + kc, "--authentication-kubeconfig=" + kc, "--authorization-kubeconfig=" + kc,
		"--leader-elect=false", "--secure-port=0", "--use-service-account-credentials=true",
		"--controllers=" + controllers, "--root-ca-file=" + c.pki.path("ca.crt"),
		"--controller-start-interval=0s", "--kube-api-qps=500", "--kube-api-burst=1000",
	})
	if err != nil {
		return err
	}
	cfg, err := s.Config(ctx, kcm.KnownControllers(), kcm.ControllersDisabledByDefault(), kcm.ControllerAliases())
	if err != nil {
		return err
	}
	go func() { c.fail <- fmt.Errorf("kube-controller-manager ended: %w", orNil(kcm.Run(ctx, cfg.Complete()))) }()
	return nil
}

func (c *cluster) startScheduler(ctx context.Context) error {
	s := scheduleroptions.NewOptions()
	kc := c.file("scheduler.kubeconfig")
	err := parse(*s.Flags, []string{
		"--kubeconfig=" + kc, "--authentication-kubeconfig=" + kc, "--authorization-kubeconfig=" + kc,
		"--leader-elect=false", "--secure-port=0", "--kube-api-qps=500", "--kube-api-burst=1000",
	})
	if err != nil {
		return err
	}
	cc, sched, err := scheduler.Setup(ctx, s)
	if err != nil {
		return err
	}
	go func() { c.fail <- fmt.Errorf("kube-scheduler ended: %w", orNil(scheduler.Run(ctx, cc, sched))) }()
	return nil
}

func (c *cluster) startProxy(ctx context.Context) error {
	config := c.file("proxy.yaml")
	err := os.WriteFile(config, []byte(fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: nftables
hostnameOverride: %s
clusterCIDR: %s
clientConnection: {kubeconfig: %q}
nftables: {minSyncPeriod: 100ms, syncPeriod: 30s}
conntrack: {maxPerCore: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
healthzBindAddress: 127.0.0.1:10256
metricsBindAddress: 127.0.0.1:10249
`, nodeName, podCIDR, c.file("proxy.kubeconfig"))), 0o600)
	if err != nil {
		return err
	}
	s := proxy.NewOptions()
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	s.AddFlags(fs)
	if err := fs.Parse([]string{"--config=" + config}); err != nil {
		return err
	}
	if err := s.Complete(fs); err != nil {
		return err
	}
	if err := s.Validate(); err != nil {
		return err
	}
	go func() { c.fail <- fmt.Errorf("kube-proxy ended: %w", orNil(s.Run(ctx))) }()
	return nil
}

func orNil(err error) error {
	if err == nil {
		return fmt.Errorf("without an error")
	}
	return err
}
