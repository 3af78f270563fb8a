package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/websocket"
)

// An Answer is the body of an answer over HTTP: the request as it arrived.
type Answer struct {
	Path     string      `json:"path"`
	Host     string      `json:"host"`
	Method   string      `json:"method"`
	Proto    string      `json:"proto"`
	Headers  http.Header `json:"headers"`
	HTTPPort string      `json:"httpPort"`
	Pod
	TLS *Connection `json:"tls,omitempty"`
}

// An httpEcho answers requests. Apart from the echo itself there are paths for what a backend may do:
//
//	/health, /status/503           an empty answer with that status
//	/retry/…?uuid=A&succeedAfter=2 fails twice for A, then echoes; by cutting the connection or by ?responseCode=,
//	                               at once or after ?delayRetry=
//	/ws                            sends each WebSocket message back
//	…?delay=1s                     the echo, later
//
// The request header X-Echo-Set-Header ("name: value, name: value") sets headers of the answer.
type httpEcho struct {
	pod  Pod
	port string

	mu       sync.Mutex
	failures map[string]int // by the uuid of a request
}

func httpServers(pod Pod, certificate *tls.Certificate) ([]func() error, error) {
	plain := port("HTTP_PORT", "3000")
	echo := &httpEcho{pod: pod, port: plain, failures: map[string]int{}}
	serve := func(port string, handler http.Handler, protocols *http.Protocols, config *tls.Config) func() error {
		server := &http.Server{Handler: handler, Protocols: protocols}
		return func() error {
			listener, err := listen(port, config)
			if err != nil {
				return err
			}
			return server.Serve(listener)
		}
	}
	var http1, both http.Protocols
	http1.SetHTTP1(true)
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	servers := []func() error{
		serve(plain, echo, &http1, nil),
		serve(port("H2C_PORT", "3001"), http2Only(echo), &both, nil),
	}
	if certificate != nil {
		config, err := httpsConfig(*certificate, os.Getenv("TLS_CLIENT_CACERTS"))
		if err != nil {
			return nil, err
		}
		var secure http.Protocols
		secure.SetHTTP1(true)
		secure.SetHTTP2(true)
		servers = append(servers, serve(port("HTTPS_PORT", "8443"), echo, &secure, config))
	}
	return servers, nil
}

// http2Only refuses requests over HTTP/1.1: who comes here has to know beforehand that HTTP/2 is spoken.
func http2Only(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			http.Error(w, "This port speaks HTTP/2 only.", http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// httpsConfig verifies clients that show a certificate, if there are authorities to verify them by; none has to.
func httpsConfig(certificate tls.Certificate, authorities string) (*tls.Config, error) {
	config := &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2", "http/1.1"}}
	if authorities == "" {
		return config, nil
	}
	bundle, err := os.ReadFile(authorities)
	if err != nil {
		return nil, err
	}
	config.ClientAuth, config.ClientCAs = tls.VerifyClientCertIfGiven, x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(bundle) {
		return nil, fmt.Errorf("no certificate in %s, which TLS_CLIENT_CACERTS names", authorities)
	}
	return config, nil
}

// ServeHTTP does without http.ServeMux, which would redirect paths such as "//a" instead of echoing them.
func (e *httpEcho) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.ReplaceAll(r.URL.Path, "//", "/")
	switch status, hasStatus := strings.CutPrefix(path, "/status/"); {
	case path == "/health":
		w.WriteHeader(http.StatusOK)
	case hasStatus:
		code, err := strconv.Atoi(status)
		if err != nil || code < 200 || code > 599 {
			http.Error(w, "The path is /status/ and a number from 200 to 599.", http.StatusBadRequest)
			return
		}
		w.WriteHeader(code)
	case strings.HasPrefix(path, "/retry/"):
		e.retry(w, r)
	case path == "/ws":
		websocket.Handler(func(ws *websocket.Conn) { _, _ = io.Copy(ws, ws) }).ServeHTTP(w, r)
	default:
		e.echo(w, r)
	}
}

func (e *httpEcho) echo(w http.ResponseWriter, r *http.Request) {
	// The suites look for these words in the log to find a mirrored request.
	log.Printf("Echoing back request made to %s to client (%s)", r.RequestURI, r.RemoteAddr)
	if err := pause(r, "delay"); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	body, err := json.MarshalIndent(Answer{
		Path: r.RequestURI, Host: r.Host, Method: r.Method, Proto: r.Proto, Headers: r.Header,
		HTTPPort: e.port, Pod: e.pod, TLS: describe(r.TLS),
	}, "", " ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("X-Content-Type-Options", "nosniff")
	for _, list := range r.Header.Values("X-Echo-Set-Header") {
		for entry := range strings.SplitSeq(list, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(entry), ":")
			// Not header.Add: the case of the name stays, and values of one name make one line.
			if before := header[name]; len(before) > 0 {
				value = before[0] + "," + strings.TrimSpace(value)
			}
			header[name] = []string{value}
		}
	}
	_, _ = w.Write(body)
}

// retry fails as often as the request asks for, and echoes from then on. What it remembers ends with the process, so
// only one replica may serve it.
func (e *httpEcho) retry(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	id := query.Get("uuid")
	failures, err := strconv.Atoi(query.Get("succeedAfter"))
	if id == "" || err != nil {
		http.Error(w, "The parameters uuid and succeedAfter, a number, are required.", http.StatusBadRequest)
		return
	}
	if !e.fails(id, failures) {
		e.echo(w, r)
		return
	}
	if err := pause(r, "delayRetry"); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if code, err := strconv.Atoi(query.Get("responseCode")); err == nil {
		w.WriteHeader(code)
		return
	}
	cut(w)
}

// fails counts a failure of a request unless there were enough of them.
func (e *httpEcho) fails(id string, wanted int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.failures[id] >= wanted {
		return false
	}
	e.failures[id]++
	return true
}

// cut ends the connection with a reset, without an answer.
func cut(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // Such as HTTP/2: only the stream can be reset.
	}
	if tcp, ok := connection.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = connection.Close()
}

// pause waits for as long as a parameter of the request says.
func pause(r *http.Request, parameter string) error {
	text := r.URL.Query().Get(parameter)
	if text == "" {
		return nil
	}
	duration, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	select {
	case <-time.After(duration):
	case <-r.Context().Done():
	}
	return nil
}
