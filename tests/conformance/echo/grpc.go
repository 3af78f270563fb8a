package main

import (
	"context"
	"crypto/tls"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/reflection"

	// The messages by which the suite asks. They are its own, so they are taken from it.
	pb "sigs.k8s.io/gateway-api/conformance/echo-basic/grpcechoserver"
)

// A grpcEcho answers calls of Echo and EchoTwo; EchoThree is not implemented, which clients are to see.
type grpcEcho struct {
	pb.UnimplementedGrpcEchoServer
	pod Pod
}

func grpcServers(pod Pod, certificate *tls.Certificate) []func() error {
	serve := func(port string, options ...grpc.ServerOption) func() error {
		return func() error {
			listener, err := listen(port, nil)
			if err != nil {
				return err
			}
			server := grpc.NewServer(options...)
			pb.RegisterGrpcEchoServer(server, &grpcEcho{pod: pod})
			reflection.Register(server)
			return server.Serve(listener)
		}
	}
	servers := []func() error{serve(port("HTTP_PORT", "3000"))}
	if certificate != nil {
		transport := grpc.Creds(credentials.NewServerTLSFromCert(certificate))
		servers = append(servers, serve(port("HTTPS_PORT", "8443"), transport))
	}
	return servers
}

func (e *grpcEcho) Echo(ctx context.Context, _ *pb.EchoRequest) (*pb.EchoResponse, error) {
	return e.answer(ctx), nil
}

func (e *grpcEcho) EchoTwo(ctx context.Context, _ *pb.EchoRequest) (*pb.EchoResponse, error) {
	return e.answer(ctx), nil
}

func (e *grpcEcho) answer(ctx context.Context) *pb.EchoResponse {
	assertions := &pb.Assertions{
		Context: &pb.Context{
			Namespace: e.pod.Namespace, Ingress: e.pod.Ingress, ServiceName: e.pod.Service, Pod: e.pod.Pod,
		},
	}
	assertions.FullyQualifiedMethod, _ = grpc.Method(ctx)
	headers, _ := metadata.FromIncomingContext(ctx)
	for key, values := range headers {
		for _, value := range values {
			assertions.Headers = append(assertions.Headers, &pb.Header{Key: key, Value: value})
			if key == ":authority" {
				assertions.Authority = value
			}
		}
	}
	if client, ok := peer.FromContext(ctx); ok {
		if info, ok := client.AuthInfo.(credentials.TLSInfo); ok {
			connection := describe(&info.State)
			assertions.TlsAssertions = &pb.TLSAssertions{
				Version:            connection.Version,
				NegotiatedProtocol: connection.NegotiatedProtocol,
				ServerName:         connection.ServerName,
				CipherSuite:        connection.CipherSuite,
				PeerCertificates:   connection.PeerCertificates,
			}
		}
	}
	return &pb.EchoResponse{Assertions: assertions}
}
