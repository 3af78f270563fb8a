// Command echo is the backend of the conformance suites: it answers with what reached it.
//
// Both suites deploy backends from published images. This program stands in for those of every version. Environment
// variables, which the suites' manifests set, say what it speaks: HTTP, HTTP/2 without TLS, WebSocket and HTTPS unless
// one of GRPC_ECHO_SERVER, TCP_ECHO_SERVER and UDP_ECHO_SERVER is set.
package main

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log"
	"net"
	"os"
)

// A Pod says who answers. Its fields are part of each answer.
type Pod struct {
	Namespace string `json:"namespace"`
	Ingress   string `json:"ingress"`
	Service   string `json:"service"`
	Pod       string `json:"pod"`
}

func main() {
	pod := Pod{
		Namespace: os.Getenv("NAMESPACE"),
		Ingress:   os.Getenv("INGRESS_NAME"),
		Service:   os.Getenv("SERVICE_NAME"),
		Pod:       os.Getenv("POD_NAME"),
	}
	log.Fatal(run(pod))
}

// run serves until a server fails.
func run(pod Pod) error {
	certificate, err := serverCertificate()
	if err != nil {
		return err
	}
	var servers []func() error
	switch {
	case os.Getenv("GRPC_ECHO_SERVER") != "":
		servers = grpcServers(pod, certificate)
	case os.Getenv("TCP_ECHO_SERVER") != "":
		servers = tcpServers(pod, certificate)
	case os.Getenv("UDP_ECHO_SERVER") != "":
		servers = []func() error{func() error { return serveUDP(pod, port("UDP_PORT", "8080")) }}
	default:
		if servers, err = httpServers(pod, certificate); err != nil {
			return err
		}
	}
	failed := make(chan error)
	for _, serve := range servers {
		go func() { failed <- serve() }()
	}
	return <-failed
}

// port reads a port from the environment.
func port(variable, fallback string) string {
	return cmp.Or(os.Getenv(variable), fallback)
}

// listen opens a TCP port, with TLS if there is a configuration for it.
func listen(port string, config *tls.Config) (net.Listener, error) {
	listener, err := net.Listen("tcp", ":"+port)
	if err != nil {
		return nil, err
	}
	if config == nil {
		log.Printf("listening on port %s", port)
		return listener, nil
	}
	log.Printf("listening on port %s with TLS", port)
	return tls.NewListener(listener, config), nil
}

// serverCertificate loads the certificate that the environment names, if it names one. The key goes by two names.
func serverCertificate() (*tls.Certificate, error) {
	file, key := os.Getenv("TLS_SERVER_CERT"), cmp.Or(os.Getenv("TLS_SERVER_PRIVKEY"), os.Getenv("TLS_SERVER_PRIV_KEY"))
	if file == "" || key == "" {
		return nil, nil
	}
	certificate, err := tls.LoadX509KeyPair(file, key)
	if err != nil {
		return nil, fmt.Errorf("cannot load the certificate of TLS_SERVER_CERT: %w", err)
	}
	return &certificate, nil
}
