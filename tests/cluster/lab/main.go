// Command lab is a Kubernetes cluster for tests: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and
// kube-proxy are the real ones, compiled in; the node agent (node.go, pod.go) runs pods as local processes in network
// namespaces; lb.go hands out load-balancer addresses. Everything lives in namespaces of its own and goes when the
// command ends, however it ends.
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

const usage = `lab up --dir DIR --images FILE [--port PORT] [--attached] [--renew-tokens-after 0.8]`

// How often garbage is collected. There is so little in a cluster for tests that Go's usual 100 % would have the API
// server collect all the time, and take a third of what it needs for that. The limit is for a cluster that is not small.
const (
	gcPercent   = 400
	memoryLimit = 2 << 30
)

func main() {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	var err error
	command := ""
	if len(os.Args) > 1 {
		command = os.Args[1]
	}
	switch command {
	case "up":
		err = up(os.Args[2:])
	case "inner": // what `up` starts in the new namespaces
		err = inner(os.Args[2:])
	case "apiserver": // what `inner` starts, a process of its own so that it can be killed
		err = runAPIServer(os.Args[2:])
	default:
		err = fmt.Errorf("usage: %s", usage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "lab:", err)
		os.Exit(1)
	}
}

type options struct {
	dir, images string
	port        int
	attached    bool
	renewAfter  float64
}

func parseOptions(args []string) (*options, error) {
	o := &options{}
	fs := flag.NewFlagSet("lab", flag.ContinueOnError)
	fs.StringVar(&o.dir, "dir", "", "state directory (made; must be empty or absent)")
	fs.StringVar(&o.images, "images", "", "JSON file: image name without tag -> how to run it")
	fs.IntVar(&o.port, "port", 0, "loopback port on the host that leads to the API server (0: any)")
	fs.BoolVar(&o.attached, "attached", false, "end when standard input ends, that is with whoever started this")
	fs.Float64Var(&o.renewAfter, "renew-tokens-after", 0.8, "renew projected tokens after this part of their life")
	if err := fs.Parse(args); err != nil {
		return nil, err
	}
	if o.dir == "" {
		return nil, fmt.Errorf("--dir is needed")
	}
	dir, err := filepath.Abs(o.dir)
	o.dir = dir
	return o, err
}

func (o *options) args() []string {
	return []string{"--dir", o.dir, "--images", o.images, "--port", strconv.Itoa(o.port),
		"--renew-tokens-after", strconv.FormatFloat(o.renewAfter, 'g', -1, 64)}
}

// up makes the namespaces, starts the cluster in them and stays until told to stop. The host-side listener is made
// here, in the host's network namespace, and handed over as a file descriptor.
func up(args []string) error {
	o, err := parseOptions(args)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := os.MkdirAll(o.dir, 0o755); err != nil {
		return err
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", o.port))
	if err != nil {
		return err
	}
	listener, err := l.(*net.TCPListener).File()
	if err != nil {
		return err
	}
	o.port = l.Addr().(*net.TCPAddr).Port
	log, err := os.Create(filepath.Join(o.dir, "lab.log"))
	if err != nil {
		return err
	}
	pr, pw, err := os.Pipe()
	if err != nil {
		return err
	}
	runtime.LockOSThread() // Pdeathsig follows the thread that forked
	cmd := exec.Command("/proc/self/exe", append([]string{"inner"}, o.args()...)...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{listener, pw}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWUTS | syscall.CLONE_NEWIPC,
		Pdeathsig:  syscall.SIGKILL,
		Setpgid:    true,
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("cannot make namespaces (are you root?): %w", err)
	}
	pw.Close()
	listener.Close()
	l.Close()
	if err := os.WriteFile(filepath.Join(o.dir, "pid"), []byte(strconv.Itoa(cmd.Process.Pid)), 0o644); err != nil {
		return err
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGINT, syscall.SIGTERM)
	if o.attached {
		go func() {
			io.Copy(io.Discard, os.Stdin)
			stop <- syscall.SIGTERM
		}()
	}
	go func() {
		<-stop
		cmd.Process.Signal(syscall.SIGTERM)
		time.Sleep(5 * time.Second)
		cmd.Process.Kill()
	}()
	for r := bufio.NewScanner(pr); r.Scan(); {
		fmt.Printf("%6.2fs %s\n", time.Since(start).Seconds(), r.Text())
	}
	err = cmd.Wait()
	if err != nil {
		return fmt.Errorf("the cluster ended: %w; see %s", err, log.Name())
	}
	return nil
}
