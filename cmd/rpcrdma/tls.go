package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// tlsFiles are files of certificates and keys, in PEM.
type tlsFiles struct {
	cert, key string // of this end
	ca        string // of the authorities that are believed
}

func (t *tlsFiles) addFlags(f *pflag.FlagSet, cert, ca string) {
	f.StringVar(&t.cert, "tls-cert", "", cert)
	f.StringVar(&t.key, "tls-key", "", "`FILE` with the key of --tls-cert")
	f.StringVar(&t.ca, "tls-ca", "", ca)
}

// check finds what is missing. The error is that of a command line.
func (t *tlsFiles) check() error {
	if (t.cert == "") != (t.key == "") {
		return errors.New("--tls-cert and --tls-key go together")
	}
	return nil
}

// load reads this end's certificate and the authorities, as far as there are such.
func (t *tlsFiles) load() (certs []tls.Certificate, cas *x509.CertPool, err error) {
	if t.cert != "" {
		cert, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, nil, fmt.Errorf("--tls-cert: %w", err)
		}
		certs = append(certs, cert)
	}
	if t.ca != "" {
		p, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, nil, fmt.Errorf("--tls-ca: %w", err)
		}
		cas = x509.NewCertPool()
		if !cas.AppendCertsFromPEM(p) {
			return nil, nil, fmt.Errorf("--tls-ca %s: there is no certificate in it", t.ca)
		}
	}
	return certs, cas, nil
}

// server returns the TLS of a server, nil: none.
func (t *tlsFiles) server() (*tls.Config, error) {
	certs, cas, err := t.load()
	if err != nil || len(certs) == 0 {
		return nil, err
	}
	cfg := &tls.Config{Certificates: certs, ClientCAs: cas, ClientAuth: tls.RequestClientCert}
	if cas != nil {
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg, nil
}

// client returns the TLS of a client of a server with a name.
func (t *tlsFiles) client(host string) (*tls.Config, error) {
	certs, cas, err := t.load()
	return &tls.Config{Certificates: certs, RootCAs: cas, ServerName: host}, err
}
