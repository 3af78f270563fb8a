package main

import (
	"bufio"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"log"
	"net"
)

// The line that each client is greeted with. Clients tell by it that they reached a backend and not just a proxy.
const greeting = "Gateway API Test TCP Server\n"

// A TCPAnswer is what the command TEST is answered with.
type TCPAnswer struct {
	Pod
	TCPPort string      `json:"tcpport"`
	TLSPort string      `json:"tlsport,omitempty"`
	IsTLS   bool        `json:"isTLS"`
	TLS     *Connection `json:"tls,omitempty"`
}

func tcpServers(pod Pod, certificate *tls.Certificate) []func() error {
	answer := TCPAnswer{Pod: pod, TCPPort: port("TCP_PORT", "3000"), TLSPort: port("TLS_PORT", "8443")}
	serve := func(port string, config *tls.Config) func() error {
		return func() error {
			listener, err := listen(port, config)
			if err != nil {
				return err
			}
			for {
				connection, err := listener.Accept()
				if err != nil {
					return err
				}
				go converse(connection, answer)
			}
		}
	}
	servers := []func() error{serve(answer.TCPPort, nil)}
	if certificate != nil {
		servers = append(servers, serve(answer.TLSPort, &tls.Config{Certificates: []tls.Certificate{*certificate}}))
	}
	return servers
}

// converse greets a client and answers its lines: PING, IS_TLS, and TEST with what is known of the connection.
func converse(connection net.Conn, answer TCPAnswer) {
	defer connection.Close()
	if secure, ok := connection.(*tls.Conn); ok {
		if err := secure.Handshake(); err != nil {
			log.Printf("handshake with %s: %v", connection.RemoteAddr(), err)
			return
		}
		state := secure.ConnectionState()
		answer.IsTLS, answer.TLS = true, describe(&state)
	}
	test, err := json.Marshal(answer)
	if err != nil {
		log.Print(err)
		return
	}
	fmt.Fprint(connection, greeting)
	for lines := bufio.NewScanner(connection); lines.Scan(); {
		switch lines.Text() {
		case "PING":
			fmt.Fprintln(connection, "PONG")
		case "IS_TLS":
			fmt.Fprintln(connection, answer.IsTLS)
		case "TEST":
			fmt.Fprintf(connection, "%s\n", test)
		}
	}
}
