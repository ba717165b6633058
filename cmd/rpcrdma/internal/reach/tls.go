package reach

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// TLSFiles are files of certificates and keys, in PEM.
type TLSFiles struct {
	Cert, Key string // of this end
	Ca        string // of the trusted authorities
}

// AddFlags adds the flags that name the files.
func (t *TLSFiles) AddFlags(f *pflag.FlagSet, cert, ca string) {
	f.StringVar(&t.Cert, "tls-cert", "", cert)
	f.StringVar(&t.Key, "tls-key", "", "`FILE` with the key of --tls-cert, in PEM")
	f.StringVar(&t.Ca, "tls-ca", "", ca)
}

// Check checks that both or neither of Cert and Key are set. The error names the flags.
func (t *TLSFiles) Check() error {
	if (t.Cert == "") != (t.Key == "") {
		return errors.New("--tls-cert and --tls-key need each other")
	}
	return nil
}

// load reads this end's certificate and the authorities, if the files are set.
func (t *TLSFiles) load() (certs []tls.Certificate, cas *x509.CertPool, err error) {
	if t.Cert != "" {
		cert, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, nil, fmt.Errorf("--tls-cert: %w", err)
		}
		certs = append(certs, cert)
	}
	if t.Ca != "" {
		p, err := os.ReadFile(t.Ca)
		if err != nil {
			return nil, nil, fmt.Errorf("--tls-ca: %w", err)
		}
		cas = x509.NewCertPool()
		if !cas.AppendCertsFromPEM(p) {
			return nil, nil, fmt.Errorf("--tls-ca %s: no certificate in this file", t.Ca)
		}
	}
	return certs, cas, nil
}

// Server returns the TLS configuration of a server; nil without a certificate.
func (t *TLSFiles) Server() (*tls.Config, error) {
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

// Client returns the TLS configuration of a client, which expects a server with the name host.
func (t *TLSFiles) Client(host string) (*tls.Config, error) {
	certs, cas, err := t.load()
	return &tls.Config{Certificates: certs, RootCAs: cas, ServerName: host}, err
}
