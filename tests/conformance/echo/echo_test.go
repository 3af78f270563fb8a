package main

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	pb "sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
)

var pod = Pod{Namespace: "shop", Service: "web", Pod: "web-1"}

// free gives a port that nobody listened on a moment ago.
func free(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return fmt.Sprint(listener.Addr().(*net.TCPAddr).Port)
}

// connect waits until somebody listens.
func connect(t *testing.T, network, address string) net.Conn {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Second); ; {
		connection, err := net.Dial(network, address)
		if err == nil {
			t.Cleanup(func() { connection.Close() })
			return connection
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// start serves in the background for as long as the process lives, and returns once the ports are open.
func start(t *testing.T, servers []func() error, ports ...string) {
	for _, serve := range servers {
		go serve()
	}
	for _, port := range ports {
		connect(t, "tcp", "127.0.0.1:"+port)
	}
}

// certificate makes one for example.com that servers and clients may use, which is its own authority, in a file too.
func certificate(t *testing.T) (*tls.Certificate, *x509.CertPool, string) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"example.com"},
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IsCA:        true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	if err != nil {
		t.Fatal(err)
	}
	bundle, pool, file := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), x509.NewCertPool(), filepath.Join(t.TempDir(), "ca.crt")
	pool.AppendCertsFromPEM(bundle)
	if err := os.WriteFile(file, bundle, 0o600); err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}, pool, file
}

func get(t *testing.T, handler http.Handler, target string, header http.Header) *httptest.ResponseRecorder {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, target, nil)
	if header != nil {
		request.Header = header
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return recorder
}

func newEcho() *httpEcho { return &httpEcho{pod: pod, port: "3000", failures: map[string]int{}} }

func TestHTTPEcho(t *testing.T) {
	answer := get(t, newEcho(), "http://shop.example//a/../b?c=d", http.Header{"X-Two": {"1", "2"}})
	var seen Answer
	if err := json.Unmarshal(answer.Body.Bytes(), &seen); err != nil {
		t.Fatal(err)
	}
	if answer.Code != 200 || seen.Host != "shop.example" || seen.Pod != pod || seen.HTTPPort != "3000" {
		t.Errorf("%d %+v", answer.Code, seen)
	}
	if got := seen.Headers["X-Two"]; len(got) != 2 {
		t.Errorf("headers: %v", seen.Headers)
	}
	if seen.TLS != nil || strings.Contains(answer.Body.String(), `"tls"`) {
		t.Error("a connection without TLS tells of TLS")
	}
}

func TestHTTPPaths(t *testing.T) {
	for target, want := range map[string]int{
		"/health": 200, "/status/503": 503, "/status/99": 400, "/status/x": 400,
		"/retry/a": 400, "/retry/a?uuid=1": 400, "//retry?delay=soon": 500,
	} {
		if got := get(t, newEcho(), target, nil).Code; got != want {
			t.Errorf("%s: %d instead of %d", target, got, want)
		}
	}
}

func TestHTTPSetsHeaders(t *testing.T) {
	header := http.Header{"X-Echo-Set-Header": {"x-lower:a, X-Twice:1", "X-Twice:2"}}
	got := get(t, newEcho(), "/", header).Header()
	if len(got["x-lower"]) != 1 || got["x-lower"][0] != "a" || got["X-Twice"][0] != "1,2" {
		t.Errorf("%v", got)
	}
}

func TestHTTPRetry(t *testing.T) {
	echo := newEcho()
	target := "/retry/?uuid=a&succeedAfter=2&responseCode=503"
	codes := []int{}
	for range 4 {
		codes = append(codes, get(t, echo, target, nil).Code)
	}
	if fmt.Sprint(codes) != "[503 503 200 200]" {
		t.Error(codes)
	}
	server := httptest.NewServer(newEcho())
	defer server.Close()
	if answer, err := http.Get(server.URL + "/retry/?uuid=b&succeedAfter=1"); err == nil {
		t.Errorf("the connection was not cut: %d", answer.StatusCode)
	}
}

func TestHTTPServers(t *testing.T) {
	plain, h2c, secure := free(t), free(t), free(t)
	t.Setenv("HTTP_PORT", plain)
	t.Setenv("H2C_PORT", h2c)
	t.Setenv("HTTPS_PORT", secure)
	pair, pool, file := certificate(t)
	t.Setenv("TLS_CLIENT_CACERTS", file)
	servers, err := httpServers(pod, pair)
	if err != nil {
		t.Fatal(err)
	}
	start(t, servers, plain, h2c, secure)

	ask := func(url string, transport *http.Transport) (int, Answer) {
		t.Helper()
		defer transport.CloseIdleConnections()
		answer, err := (&http.Client{Transport: transport}).Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		var seen Answer
		_ = json.Unmarshal(body, &seen)
		return answer.StatusCode, seen
	}
	var http2 http.Protocols
	http2.SetUnencryptedHTTP2(true)
	if code, seen := ask("http://127.0.0.1:"+h2c, &http.Transport{Protocols: &http2}); code != 200 || seen.Proto != "HTTP/2.0" {
		t.Errorf("HTTP/2 by prior knowledge: %d %+v", code, seen)
	}
	if code, _ := ask("http://127.0.0.1:"+h2c, &http.Transport{}); code != 400 {
		t.Errorf("HTTP/1.1 on the port of HTTP/2: %d", code)
	}
	config := &tls.Config{RootCAs: pool, ServerName: "example.com"}
	_, seen := ask("https://127.0.0.1:"+secure, &http.Transport{TLSClientConfig: config})
	if seen.TLS == nil || seen.TLS.Version != "TLSv1.3" || seen.TLS.ServerName != "example.com" || len(seen.TLS.PeerCertificates) != 0 {
		t.Errorf("TLS: %+v", seen.TLS)
	}
	config = &tls.Config{RootCAs: pool, ServerName: "example.com", Certificates: []tls.Certificate{*pair}}
	_, seen = ask("https://127.0.0.1:"+secure, &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true})
	if seen.TLS == nil || len(seen.TLS.PeerCertificates) != 1 || seen.TLS.NegotiatedProtocol != "h2" {
		t.Errorf("TLS with a client's certificate: %+v", seen.TLS)
	}

	ws, err := websocket.Dial("ws://127.0.0.1:"+plain+"/ws", "", "http://example.com")
	if err != nil {
		t.Fatal(err)
	}
	defer ws.Close()
	var reply string
	if err := errors.Join(websocket.Message.Send(ws, "hello"), websocket.Message.Receive(ws, &reply)); err != nil || reply != "hello" {
		t.Errorf("WebSocket: %q, %v", reply, err)
	}
}

func TestGRPC(t *testing.T) {
	plain, secure := free(t), free(t)
	t.Setenv("HTTP_PORT", plain)
	t.Setenv("HTTPS_PORT", secure)
	pair, pool, _ := certificate(t)
	start(t, grpcServers(pod, pair), plain, secure)
	transport := credentials.NewClientTLSFromCert(pool, "example.com")
	connection, err := grpc.NewClient("127.0.0.1:"+secure, grpc.WithTransportCredentials(transport))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	client, ctx := pb.NewGrpcEchoClient(connection), metadata.AppendToOutgoingContext(t.Context(), "color", "blue")
	answer, err := client.EchoTwo(ctx, &pb.EchoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	seen := answer.Assertions
	if seen.FullyQualifiedMethod != "/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/EchoTwo" {
		t.Error(seen.FullyQualifiedMethod)
	}
	if seen.Context.Pod != "web-1" || seen.Authority != "example.com" || seen.TlsAssertions.GetServerName() != "example.com" {
		t.Errorf("%+v", seen)
	}
	found := false
	for _, header := range seen.Headers {
		found = found || header.Key == "color" && header.Value == "blue"
	}
	if !found {
		t.Errorf("no header color: %v", seen.Headers)
	}
	if _, err := client.EchoThree(context.Background(), &pb.EchoRequest{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("EchoThree: %v", err)
	}
}

func TestTCP(t *testing.T) {
	plain, secure := free(t), free(t)
	t.Setenv("TCP_PORT", plain)
	t.Setenv("TLS_PORT", secure)
	pair, pool, _ := certificate(t)
	start(t, tcpServers(pod, pair), plain, secure)
	converse := func(connection net.Conn, withTLS bool) {
		t.Helper()
		lines := bufio.NewReader(connection)
		ask := func(line string) string {
			if line != "" {
				fmt.Fprintln(connection, line)
			}
			answer, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return answer
		}
		if got := ask(""); got != greeting {
			t.Errorf("greeting: %q", got)
		}
		if got := ask("PING"); got != "PONG\n" {
			t.Errorf("PING: %q", got)
		}
		if got := ask("IS_TLS"); got != fmt.Sprintln(withTLS) {
			t.Errorf("IS_TLS: %q", got)
		}
		var answer TCPAnswer
		if err := json.Unmarshal([]byte(ask("TEST")), &answer); err != nil || answer.Pod != pod || answer.IsTLS != withTLS {
			t.Errorf("TEST: %+v, %v", answer, err)
		}
	}
	converse(connect(t, "tcp", "127.0.0.1:"+plain), false)
	config := &tls.Config{RootCAs: pool, ServerName: "example.com"}
	converse(tls.Client(connect(t, "tcp", "127.0.0.1:"+secure), config), true)
}

func TestUDP(t *testing.T) {
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go answerDatagrams(socket, pod)
	t.Cleanup(func() { socket.Close() })
	connection := connect(t, "udp", socket.LocalAddr().String())
	fmt.Fprint(connection, "hello")
	buffer := make([]byte, 1024)
	length, err := connection.Read(buffer)
	if err != nil {
		t.Fatal(err)
	}
	var answer UDPAnswer
	if err := json.Unmarshal(buffer[:length], &answer); err != nil || answer.Request != "hello" || answer.Pod != pod {
		t.Errorf("%s, %v", buffer[:length], err)
	}
}
