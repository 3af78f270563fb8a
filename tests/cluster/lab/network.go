package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

const (
	nodeName     = "lab"
	nodeIP       = "172.18.0.2"    // on lo; the API server and the kubelet's endpoint listen there
	hostIP       = "172.18.0.3"    // on lo; where connections from the host come from
	podGateway   = "10.244.0.1"    // host end of every pod's veth
	podCIDR      = "10.244.0.0/16" // one /32 a pod
	serviceCIDR  = "10.96.0.0/16"
	serviceCIDR6 = "fd00:10:96::/112" // Services get addresses of it that lead nowhere
	dnsIP        = "10.96.0.10"
	stateDir     = "/run/lab"
)

// setupNamespaces prepares the fresh mount, PID and network namespaces.
func setupNamespaces() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return err
	}
	if err := syscall.Sethostname([]byte(nodeName)); err != nil {
		return err
	}
	for _, d := range []string{"/run/netns", stateDir} { // private to this cluster, gone with it
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
		if err := syscall.Mount("tmpfs", d, "tmpfs", 0, ""); err != nil {
			return err
		}
	}
	// Of the machine, and counted by user: all Envoys are the same one, and each takes several.
	if err := atLeast("/proc/sys/fs/inotify/max_user_instances", 8192); err != nil {
		return err
	}
	for name, value := range map[string]string{
		"ip_forward": "1",
		// kube-proxy refuses by ICMP for Services without endpoints. At more than one refusal a second the kernel would
		// keep quiet, and clients would wait.
		"icmp_ratelimit": "0", "icmp_msgs_per_sec": "100000", "icmp_msgs_burst": "100000",
	} {
		if err := os.WriteFile("/proc/sys/net/ipv4/"+name, []byte(value), 0o644); err != nil {
			return err
		}
	}
	return ip("link set lo up", "addr add "+nodeIP+"/32 dev lo", "addr add "+hostIP+"/32 dev lo", "addr add "+podGateway+"/32 dev lo",
		// A way out for service addresses, so that the node's own packets reach kube-proxy's output chain. Over
		// lo that works too, but kube-proxy's rejects (services without endpoints) get lost there.
		"link add up0 type veth peer name up1", "link set up0 up", "link set up1 up",
		"route add "+serviceCIDR+" dev up0 src "+nodeIP,
		// The same for addresses that kube-proxy answers but that lb.go does not hand out: externalIPs of Services.
		"route add 172.18.0.0/16 dev up0 src "+nodeIP)
}

// atLeast raises a setting of the kernel, if need be.
func atLeast(file string, value int) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if now, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && now >= value {
		return nil
	}
	return os.WriteFile(file, []byte(strconv.Itoa(value)), 0o644)
}

// ip runs lines of the ip command in one batch.
func ip(lines ...string) error { return ipIn("", lines...) }

// ipIn is ip inside the named network namespace.
func ipIn(netns string, lines ...string) error {
	args := []string{"ip", "-batch", "-"}
	if netns != "" {
		args = []string{"ip", "-n", netns, "-batch", "-"}
	}
	return feed(args, lines...)
}

// nft runs a script of nft.
func nft(lines ...string) error { return feed([]string{"nft", "-f", "-"}, lines...) }

func feed(command []string, lines ...string) error {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stdin = strings.NewReader(strings.Join(lines, "\n") + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %s: %v: %s", command[0], strings.Join(lines, "; "), err, out)
	}
	return nil
}
