package main

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

var metricsLine = regexp.MustCompile(`(?m)^metrics on (http://.*)/metrics, whether`)

// metricsURL is the URL of metrics in a server's greeting, up to the path.
func metricsURL(t *testing.T, greeting string) string {
	t.Helper()
	m := metricsLine.FindStringSubmatch(greeting)
	if m == nil {
		t.Fatalf("no address in %q", greeting)
	}
	return m[1]
}

// getURL returns the status and what is at a URL.
func getURL(t *testing.T, url string) (status int, body string) {
	t.Helper()
	transport := new(http.Transport)
	defer transport.CloseIdleConnections()
	r, err := (&http.Client{Transport: transport}).Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

// wantLines checks that metrics have lines.
func wantLines(t *testing.T, metrics string, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if !strings.Contains("\n"+metrics, "\n"+want+"\n") {
			t.Errorf("no line %q", want)
		}
	}
}

// TestServeMetrics: metrics show what clients have done over each transport, and the health checks
// that the server is well.
func TestServeMetrics(t *testing.T) {
	s := startServe(t, "--memory", "/export", "--metrics", "127.0.0.1:0")
	url := metricsURL(t, s.greeting)
	mountAs(t, dialTCP(t, s.tcp), 0, "/export")
	mountAs(t, dialRDMA(t, s.rdma), 0, "/export")
	status, text := getURL(t, url+"/metrics")
	if status != http.StatusOK {
		t.Fatalf("status %d: %s", status, text)
	}
	wantLines(t, text,
		`rpcrdma_server_calls_total{outcome="success",procedure="MNT",program="MOUNT",version="3"} 2`,
		`rpcrdma_nfs_mounts_total 2`,
		`rpcrdma_nfs_clients{export="/export"} 1`,
		`rpcrdma_rdma_connections_total{provider="iwarp"} 1`,
		`rpcrdma_nfs_bytes_total{direction="read",export="/export"} 0`,
		`rpcrdma_tcp_connections_total 1`,
		`rpcrdma_rdma_memory_limit_bytes{kind="chunks"} 5.36870912e+08`,
		`rpcrdma_server_connections{server="lookups"} 0`,
		`rpcrdma_connections_excluded_total 0`)
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, text := getURL(t, url+path); status != http.StatusOK || text != "ok\n" {
			t.Errorf("%s: %d, %q", path, status, text)
		}
	}
	if code := s.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %v", code, s.stderr)
	}
}

// TestGatewayMetrics: a gateway is ready as long as its server answers.
func TestGatewayMetrics(t *testing.T) {
	server := startServe(t, "--memory", "/export")
	g := startGateway(t, nil, "--to", "rdma://"+server.rdma, "--metrics", "127.0.0.1:0")
	url := metricsURL(t, g.greeting)
	mountAs(t, dialTCP(t, g.tcp), 0, "/export")
	if status, text := getURL(t, url+"/readyz"); status != http.StatusOK {
		t.Errorf("ready: %d, %q", status, text)
	}
	_, text := getURL(t, url+"/metrics")
	wantLines(t, text, `rpcrdma_gateway_clients 1`, `rpcrdma_gateway_dials_total{result="connected"} 1`,
		`rpcrdma_gateway_calls_total{outcome="success",procedure="MNT",program="MOUNT",version="3"} 1`,
		`rpcrdma_gateway_call_duration_seconds_count{procedure="MNT",program="MOUNT",version="3"} 1`)
	server.stop()
	status, text := getURL(t, url+"/readyz")
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "nothing listens at port") {
		t.Errorf("without a server: %d, %q", status, text)
	}
	if status, _ := getURL(t, url+"/healthz"); status != http.StatusOK {
		t.Errorf("health: %d: it is the server that is away", status)
	}
}

// TestMetricsUsage: an invalid address, or one that is taken, is an error at once.
func TestMetricsUsage(t *testing.T) {
	s := startServe(t, "--memory", "/export", "--metrics", "127.0.0.1:0")
	taken := strings.TrimPrefix(metricsURL(t, s.greeting), "http://")
	for addr, want := range map[string]string{
		"9049": "--metrics \"9049\": write HOST:PORT, or :PORT",
		taken:  "choose another port with --metrics",
	} {
		out := newTranscript()
		code := run(t.Context(), []string{"serve", "--memory", "/export", "--metrics", addr}, out, out)
		if code == cli.ExitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%s: exit %d: %q, want %q", addr, code, out, want)
		}
	}
}
