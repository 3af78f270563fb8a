package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// pki writes one certificate authority and what hangs off it into dir.
type pki struct {
	dir    string
	ca     *x509.Certificate
	caKey  crypto.Signer
	serial int64
}

func newPKI(dir string) (*pki, error) {
	p := &pki{dir: dir}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return p, p.issue("ca", pkix.Name{CommonName: "lab"}, nil, nil)
}

func (p *pki) path(name string) string { return filepath.Join(p.dir, name) }

// issue writes NAME.crt and NAME.key; the first one issued is the CA and signs itself.
func (p *pki) issue(name string, subject pkix.Name, dns []string, ips []net.IP) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	p.serial++
	t := &x509.Certificate{
		SerialNumber: big.NewInt(p.serial), Subject: subject, DNSNames: dns, IPAddresses: ips,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(365 * 24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	parent, signer := p.ca, p.caKey
	if parent == nil {
		t.IsCA, t.BasicConstraintsValid, t.KeyUsage, t.ExtKeyUsage = true, true, x509.KeyUsageCertSign|x509.KeyUsageDigitalSignature, nil
		parent, signer = t, key
	}
	der, err := x509.CreateCertificate(rand.Reader, t, parent, key.Public(), signer)
	if err != nil {
		return err
	}
	if p.ca == nil {
		if p.ca, err = x509.ParseCertificate(der); err != nil {
			return err
		}
		p.caKey = key
	}
	kder, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.path(name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o644); err != nil {
		return err
	}
	return os.WriteFile(p.path(name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: kder}), 0o600)
}

// kubeconfig issues a client certificate for user and writes FILE that uses it.
func (p *pki) kubeconfig(file, server, user string, groups ...string) error {
	if _, err := os.Stat(p.path(user + ".crt")); err != nil {
		if err := p.issue(user, pkix.Name{CommonName: user, Organization: groups}, nil, nil); err != nil {
			return err
		}
	}
	return os.WriteFile(file, []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: lab
clusters: [{name: lab, cluster: {server: %q, certificate-authority: %q}}]
users: [{name: u, user: {client-certificate: %q, client-key: %q}}]
contexts: [{name: lab, context: {cluster: lab, user: u}}]
`, server, p.path("ca.crt"), p.path(user+".crt"), p.path(user+".key"))), 0o600)
}
