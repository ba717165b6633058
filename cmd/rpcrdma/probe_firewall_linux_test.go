package main

import (
	"context"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
)

// TestProbeFirewall: a port that does not answer.
func TestProbeFirewall(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--memory", "/a")
	up := func(p *probe.Prober) { p.Usual = []reach.Target{rdmaAt(t, s.rdma)} }
	for _, scheme := range schemes {
		dropped := dropping(t)
		r := probing{short: true, change: up}.of(t, scheme+"://"+dropped)
		f := r.names(t, "port", probe.Fail, probe.CauseFirewall)
		for _, want := range []string{"firewalls on the way", "the host is up"} {
			if !strings.Contains(f.Do, want) {
				t.Errorf("%s: to do: %s, want %s", scheme, f.Do, want)
			}
		}
	}
}

// TestProbeFirewallMount: NFS can be reached, but not the port of MOUNT.
func TestProbeFirewallMount(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--memory", "/a")
	_, port, _ := net.SplitHostPort(dropping(t))
	r := probing{}.of(t, "rdma://"+s.rdma+"/a?mountport="+port)
	r.names(t, "mount", probe.Fail, probe.CauseFirewall)
}

// TestProbeFirewallLinux: a firewall drops what goes to MOUNT's usual port over TCP. Probe finds
// MOUNT over RDMA, but Linux would not.
func TestProbeFirewallLinux(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--memory", "/a")
	at := rdmaAt(t, dropping(t))
	at.Scheme = "tcp"
	usual := func(p *probe.Prober) { p.Usual = []reach.Target{at} }
	r := probing{change: usual}.of(t, "rdma://"+s.rdma+"/a")
	r.names(t, "port", probe.Warn, probe.CauseFirewall)
	r.find(t, "mount", probe.OK)
}

// dropping is a port at which Linux drops SYNs like a firewall: its socket has a full queue,
// because nobody accepts.
func dropping(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	raw, err := l.(*net.TCPListener).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if raw.Control(func(fd uintptr) { err = syscall.Listen(int(fd), 0) }) != nil || err != nil {
		t.Fatal(err)
	}
	for range 16 {
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		c, err := new(net.Dialer).DialContext(ctx, "tcp", l.Addr().String())
		cancel()
		if err != nil {
			return l.Addr().String()
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Fatal("the queue is never full")
	return ""
}

// TestProbePortAdvice: what to do about a port depends on what is at the usual ports.
func TestProbePortAdvice(t *testing.T) {
	t.Parallel()
	s := startServe(t, "--memory", "/a")
	closed := func() reach.Target { return rdmaAt(t, deadport.New(t, "127.0.0.1").String()) }
	for _, tt := range []struct {
		name, url string
		usual     reach.Target
		cause     probe.Cause
		do        string
	}{
		{"swapped", "rdma://" + s.tcp + "/a", rdmaAt(t, s.rdma), probe.CauseSwapped,
			", or for RDMA rdma://" + s.rdma + "/a"},
		{"nobody", closed().String(), closed(), probe.CauseRefused, "start the server"},
	} {
		usual := func(p *probe.Prober) { p.Usual = []reach.Target{tt.usual} }
		f := probing{change: usual}.of(t, tt.url).names(t, "port", probe.Fail, tt.cause)
		if !strings.Contains(f.Do, tt.do) {
			t.Errorf("%s: to do: %s, want %s", tt.name, f.Do, tt.do)
		}
	}
}
