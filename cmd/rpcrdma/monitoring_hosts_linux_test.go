package main

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// TestMetricsHosts: a host may have 16 of 32 connections to the port of --metrics, and has further
// ones closed. Another host gets in.
func TestMetricsHosts(t *testing.T) {
	s := startServe(t, "--memory", "/export", "--metrics", "127.0.0.1:0")
	url := metricsURL(t, s.greeting)
	dial := func(from string) (net.Conn, error) {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		c, err := d.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err == nil {
			t.Cleanup(func() { c.Close() })
			c.SetDeadline(time.Now().Add(hang.Patience))
		}
		return c, err
	}
	ask := func(from, path string) string {
		c, err := dial(from)
		if err != nil { // refused already
			return ""
		}
		defer c.Close()
		io.WriteString(c, "GET "+path+" HTTP/1.0\r\n\r\n")
		answer, _ := io.ReadAll(c) // nothing, if it is refused
		return string(answer)
	}
	var all []net.Conn
	for range 16 {
		c, err := dial("127.0.0.1")
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for range 20 {
		if got := ask("127.0.0.1", "/healthz"); got != "" {
			t.Fatalf("the host has more than %d connections: %q", len(all), got)
		}
	}
	const refused = "rpcrdma_metrics_refused_total 20\n"
	if text := ask("127.0.0.2", "/metrics"); !strings.Contains(text, refused) {
		t.Errorf("another host gets %.300q", text)
	}
	all[0].Close() // its place is free when the server has seen that
	hang.Until(t, "a place", func() bool {
		return strings.HasPrefix(ask("127.0.0.1", "/healthz"), "HTTP/1.0 200")
	})
	if n := strings.Count(s.stderr.String(), "refused an HTTP connection"); n != 1 {
		t.Errorf("%d lines in the log:\n%s", n, s.stderr)
	}
}
