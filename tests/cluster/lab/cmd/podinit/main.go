// Command podinit is the first process of a container: started in fresh mount, PID, UTS and IPC namespaces, it joins
// the pod's network namespace, builds the root file system, gives up what the container may not have, and becomes the
// container's command. It is small so that it starts fast.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gatehouse.dev/lab/podspec"
)

func main() {
	runtime.LockOSThread() // what is set below is set for the thread that execs
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "podinit:", err)
		os.Exit(128)
	}
}

func run() error {
	var s podspec.Spec
	if err := json.Unmarshal([]byte(os.Getenv("PODINIT_SPEC")), &s); err != nil {
		return err
	}
	if len(s.Argv) == 0 {
		return fmt.Errorf("no command")
	}
	if s.Netns != "" {
		f, err := os.Open("/run/netns/" + s.Netns)
		if err != nil {
			return err
		}
		if err := unix.Setns(int(f.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("setns: %w", err)
		}
		f.Close()
	}
	for name, value := range s.Sysctls {
		if err := os.WriteFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), []byte(value), 0o644); err != nil {
			return fmt.Errorf("sysctl %s: %w", name, err)
		}
	}
	if err := syscall.Sethostname([]byte(s.Hostname)); err != nil {
		return err
	}
	if err := enterRoot(&s); err != nil {
		return err
	}
	if s.Cwd == "" {
		s.Cwd = "/"
	}
	if err := os.Chdir(s.Cwd); err != nil {
		return err
	}
	for _, e := range s.Env {
		if p, ok := strings.CutPrefix(e, "PATH="); ok {
			os.Setenv("PATH", p)
		}
	}
	path, err := exec.LookPath(s.Argv[0])
	if err != nil {
		return err
	}
	if err := giveUp(&s); err != nil {
		return err
	}
	return syscall.Exec(path, s.Argv, s.Env)
}

// giveUp becomes the container's user, without what its security context denies it.
func giveUp(s *podspec.Spec) error {
	if s.DropCapabilities {
		for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
			if c == unix.CAP_NET_BIND_SERVICE && s.KeepBindService {
				continue
			}
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil && err != unix.EINVAL {
				return fmt.Errorf("capabilities: %w", err)
			}
		}
	}
	if s.UID != 0 || s.GID != 0 || len(s.Groups) > 0 {
		for _, e := range []error{syscall.Setgroups(s.Groups), syscall.Setgid(s.GID), syscall.Setuid(s.UID)} {
			if e != nil {
				return fmt.Errorf("user %d: %w", s.UID, e)
			}
		}
	}
	if s.NoNewPrivileges {
		return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	return nil
}

// enterRoot lays out the container's root file system and makes it this process's root. What is mounted into it is
// mounted after the pivot, so that links in it (/var/run) lead where they should.
func enterRoot(s *podspec.Spec) error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	dir := func(name string) string { return filepath.Join(s.Dir, name) }
	lower := strings.Join(append(s.Layers, dir("empty")), ":")
	for _, d := range []string{dir("empty"), dir("upper"), dir("work"), dir("root")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	root := dir("root")
	if err := syscall.Mount("overlay", root, "overlay", 0, "lowerdir="+lower+",upperdir="+dir("upper")+",workdir="+dir("work")); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(root, ".old"), 0o700); err != nil {
		return err
	}
	if err := syscall.PivotRoot(root, filepath.Join(root, ".old")); err != nil {
		return fmt.Errorf("pivot_root: %w", err)
	}
	if err := os.Chdir("/"); err != nil {
		return err
	}
	for _, d := range []string{"/proc", "/dev", "/tmp", "/etc"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	if err := os.Chmod("/tmp", 0o1777); err != nil {
		return err
	}
	for _, m := range [][3]string{{"proc", "/proc", ""}, {"tmpfs", "/dev", "mode=755"}} {
		if err := syscall.Mount(m[0], m[1], m[0], 0, m[2]); err != nil {
			return fmt.Errorf("%s: %w", m[1], err)
		}
	}
	for _, d := range []string{"null", "zero", "full", "random", "urandom", "tty"} {
		if err := bind("/.old/dev/"+d, "/dev/"+d, false); err != nil {
			return err
		}
	}
	for l, t := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(t, "/dev/"+l); err != nil {
			return err
		}
	}
	if err := os.Mkdir("/dev/shm", 0o777); err != nil {
		return err
	}
	if err := os.Chmod("/dev/shm", 0o1777); err != nil {
		return err
	}
	if s.Host {
		if err := showHost(); err != nil {
			return err
		}
	}
	for p, content := range s.Files {
		os.Remove(p) // it may be a link
		if err := os.WriteFile(p, []byte(content), 0o644); err != nil {
			return err
		}
	}
	for _, m := range s.Mounts {
		if err := bind("/.old"+m.Source, m.Target, m.ReadOnly); err != nil {
			return err
		}
	}
	if err := syscall.Unmount("/.old", syscall.MNT_DETACH); err != nil {
		return err
	}
	if err := os.Remove("/.old"); err != nil {
		return err
	}
	if s.ReadOnly {
		return syscall.Mount("", "/", "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	return nil
}

// showHost brings in the host's programs and libraries. (An overlay over the host's root would be simpler, but a root
// that is an overlay itself cannot be laid under another.)
func showHost() error {
	for _, d := range []string{"/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc/ssl", "/etc/alternatives"} {
		st, err := os.Lstat("/.old" + d)
		switch {
		case os.IsNotExist(err):
			continue
		case err != nil:
			return err
		case st.Mode()&os.ModeSymlink != 0:
			var target string
			if target, err = os.Readlink("/.old" + d); err == nil {
				err = os.Symlink(target, d)
			}
		default:
			err = bind("/.old"+d, d, true)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bind mounts source at target, making the mount point.
func bind(source, target string, readOnly bool) error {
	st, err := os.Stat(source)
	if err != nil {
		return err
	}
	if st.IsDir() {
		err = os.MkdirAll(target, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(target), 0o755); err == nil {
		var f *os.File
		if f, err = os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o644); err == nil {
			f.Close()
		}
	}
	if err != nil {
		return err
	}
	if err := syscall.Mount(source, target, "", syscall.MS_BIND, ""); err != nil {
		return fmt.Errorf("bind %s: %w", target, err)
	}
	if readOnly {
		return syscall.Mount("", target, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
	}
	return nil
}
