package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/internal/testcert"
)

// TestServeTLS: clients reach a server over TCP with TLS. With --tls-ca they must use TLS, with a
// certificate of their own.
func TestServeTLS(t *testing.T) {
	certs, err := testcert.New()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := certs.Files(dir); err != nil {
		t.Fatal(err)
	}
	file := func(name string) string { return filepath.Join(dir, name) }
	own := []string{"--tls-cert", file("server.pem"), "--tls-key", file("server.key")}
	believe := []string{"--tls-ca", file("ca.pem")}
	shown := append([]string{"--tls-cert", file("client.pem"), "--tls-key", file("client.key")}, believe...)
	for _, tt := range []struct {
		name      string
		server    []string
		client    []string
		tls, want bool
		stderr    string
	}{
		{"TLS", own, believe, true, true, ""},
		{"without it", own, nil, false, true, ""},
		{"an authority that is not believed", own, nil, true, false, "certificate"},
		{"no TLS at the server", nil, believe, true, false, "does not offer TLS"},
		{"both certificates", append(believe[:2:2], own...), shown, true, true, ""},
		{"no certificate of the client", append(believe[:2:2], own...), believe, true, false, "certificate required"},
		{"required, without TLS", append(believe[:2:2], own...), nil, false, false, "AUTH_TOOWEAK"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := startServe(t, append(tt.server, "--memory", "/export")...)
			url := "tcp://" + s.tcp + "/export"
			if tt.tls {
				url += "?tls"
			}
			var stdout, stderr bytes.Buffer
			code := run(context.Background(), append([]string{"df", url}, tt.client...), &stdout, &stderr)
			if (code == cli.ExitOK) != tt.want || !strings.Contains(stderr.String(), tt.stderr) {
				t.Errorf("exit %d, %s%swant success %t, and %q", code, &stdout, &stderr, tt.want, tt.stderr)
			}
		})
	}
}
