// Package testcert makes certificates for tests: for a certificate authority, a server at
// 127.0.0.1, and a client.
package testcert

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// ClientName is the common name of the client's certificate.
const ClientName = "client.test"

// Certs are the certificates of an authority, a server and a client.
type Certs struct {
	CA, ServerCert, ClientCert tls.Certificate
}

// New makes an authority and the certificates that it issues.
func New() (c *Certs, err error) {
	c = new(Certs)
	c.CA, err = issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "authority.test"}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}, nil)
	if err != nil {
		return nil, err
	}
	c.ServerCert, err = issue(&x509.Certificate{
		Subject: pkix.Name{CommonName: "server.test"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, &c.CA)
	if err != nil {
		return nil, err
	}
	c.ClientCert, err = issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: ClientName},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}, &c.CA)
	return c, err
}

// Server returns a server configuration that does not ask clients for certificates.
func (c *Certs) Server() *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{c.ServerCert}, ClientCAs: c.pool()}
}

// Client returns a client configuration without a certificate.
func (c *Certs) Client() *tls.Config { return &tls.Config{RootCAs: c.pool()} }

func (c *Certs) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.CA.Leaf)
	return pool
}

// Files writes the certificates to a directory, in PEM, as ca.pem, server.pem and client.pem. It
// writes the keys as ca.key, server.key and client.key.
func (c *Certs) Files(dir string) error {
	for name, cert := range map[string]tls.Certificate{
		"ca": c.CA, "server": c.ServerCert, "client": c.ClientCert,
	} {
		block := &pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]}
		if err := os.WriteFile(filepath.Join(dir, name+".pem"), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
		key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
		if err != nil {
			return err
		}
		block = &pem.Block{Type: "PRIVATE KEY", Bytes: key}
		if err := os.WriteFile(filepath.Join(dir, name+".key"), pem.EncodeToMemory(block), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// issue returns a certificate with a new key, signed by ca, or by itself if ca is nil.
func issue(template *x509.Certificate, ca *tls.Certificate) (cert tls.Certificate, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return cert, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, big.NewInt(1<<62)); err != nil {
		return cert, err
	}
	template.NotAfter = time.Now().Add(time.Hour)
	parent, by := template, any(key)
	if ca != nil {
		parent, by = ca.Leaf, ca.PrivateKey
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		return cert, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}
