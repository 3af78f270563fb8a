package main

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strings"
	"syscall"
)

// serveControl listens on DIR/control, a Unix socket. Each connection brings one line and gets one, "ok" or what went
// wrong:
//
//	apiserver cut | refuse | restore | kill | start | pause | resume
//	signal NAMESPACE POD CONTAINER KILL | STOP | CONT | TERM
func (c *cluster) serveControl(ctx context.Context) error {
	l, err := net.Listen("unix", c.file("control"))
	if err != nil {
		return err
	}
	go func() {
		<-ctx.Done()
		l.Close()
	}()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				line, err := bufio.NewReader(conn).ReadString('\n')
				if err == nil {
					err = c.control(ctx, strings.Fields(line))
				}
				if err != nil {
					fmt.Fprintln(conn, err)
				} else {
					fmt.Fprintln(conn, "ok")
				}
			}()
		}
	}()
	return nil
}

var signals = map[string]syscall.Signal{"KILL": syscall.SIGKILL, "STOP": syscall.SIGSTOP, "CONT": syscall.SIGCONT, "TERM": syscall.SIGTERM}

func (c *cluster) control(ctx context.Context, words []string) error {
	switch command := strings.Join(words, " "); command {
	case "apiserver cut":
		return c.api.cut(false)
	case "apiserver refuse":
		return c.api.cut(true)
	case "apiserver restore":
		return c.api.restore()
	case "apiserver kill":
		return c.api.kill()
	case "apiserver start":
		return c.api.start(ctx)
	case "apiserver pause":
		return c.api.send(syscall.SIGSTOP)
	case "apiserver resume":
		return c.api.send(syscall.SIGCONT)
	default:
		if len(words) != 5 || words[0] != "signal" {
			return fmt.Errorf("unknown command %q", command)
		}
		s, ok := signals[words[4]]
		if !ok {
			return fmt.Errorf("unknown signal %q", words[4])
		}
		return c.node.signal(words[1], words[2], words[3], s)
	}
}
