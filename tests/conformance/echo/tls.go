package main

import (
	"crypto/tls"
	"encoding/pem"
	"strings"
)

// A Connection tells how a TLS connection was made.
type Connection struct {
	Version            string   `json:"version"`
	ServerName         string   `json:"serverName"`
	NegotiatedProtocol string   `json:"negotiatedProtocol,omitempty"`
	CipherSuite        string   `json:"cipherSuite"`
	PeerCertificates   []string `json:"peerCertificates,omitempty"`
}

// describe tells of a TLS connection, and nothing of one that is not. Versions read as "TLSv1.3".
func describe(state *tls.ConnectionState) *Connection {
	if state == nil {
		return nil
	}
	connection := &Connection{
		Version:            strings.Replace(tls.VersionName(state.Version), " ", "v", 1),
		ServerName:         state.ServerName,
		NegotiatedProtocol: state.NegotiatedProtocol,
		CipherSuite:        tls.CipherSuiteName(state.CipherSuite),
	}
	for _, certificate := range state.PeerCertificates {
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Raw})
		connection.PeerCertificates = append(connection.PeerCertificates, string(block))
	}
	return connection
}
