//go:build interop

package rpcbind

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// serveRDMA serves NFS's NULL over iWARP, on IPv4 and IPv6, and returns the address.
func serveRDMA(t *testing.T) netip.AddrPort {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	l, err := iwarp.Listen(t.Context(), "[::]:0", iwarp.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	s := oncrpc.NewServer(oncrpc.ServerConfig{})
	s.Handle(oncrpc.Program{Name: "NFS", Number: nfs3.Program, Version: nfs3.Version})
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet}) }()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// A server over RDMA is registered for rdma and rdma6. Clients of both families find it by its
// program number and reach it, until it is unregistered.
func TestFind(t *testing.T) {
	r := register(t, local(t), rpcbind.Mappings(nfs3.Program, nfs3.Version, rpcbind.NetidRDMA, serveRDMA(t)))
	find := func(host string) (uint16, error) {
		at := net.JoinHostPort(host, "111")
		return rpcbind.FindPort(t.Context(), nfs3.Program, nfs3.Version, rpcbind.NetidRDMA,
			rpcbind.Place{Name: at, Dial: func(ctx context.Context) (oncrpc.Transport, error) {
				return recordmark.Dial(ctx, at, recordmark.Config{EnforceMaxReply: true})
			}})
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		port, err := find(host)
		if err != nil {
			t.Fatal(err)
		}
		at := netip.AddrPortFrom(netip.MustParseAddr(host), port)
		conn, err := rpcrdma.Dial(t.Context(), iwarp.Dialer{}, at.String(), rpcrdma.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if err := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, oncrpc.AuthNone()).Call(t.Context(), 0, nil, nil); err != nil {
			t.Errorf("NFS at %v: %v", at, err)
		}
		conn.Close()
		<-conn.Done()
	}
	if err := r.Unregister(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"127.0.0.1", "::1"} {
		if port, err := find(host); !errors.Is(err, rpcbind.ErrNotRegistered) {
			t.Errorf("from %s: got %d, %v, want ErrNotRegistered", host, port, err)
		}
	}
}

// list runs the command ls on a server whose port it has to find.
func list(command, scheme string) (string, error) {
	out, err := exec.Command(command, "ls", scheme+"://127.0.0.1/?rpcbind").CombinedOutput()
	return string(out), err
}

// The command finds rpcrdma serve --rpcbind by its URL, and reports when it is gone.
func TestFindServe(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if there := registered(t, local(t)); len(there) > 0 {
		t.Fatalf("somebody has registered %v", there)
	}
	s := served.Start(t, command, "--memory", "/export", "--rpcbind")
	for _, scheme := range []string{"rdma", "tcp"} {
		if got, err := list(command, scheme); err != nil || got != "/export\n" {
			t.Errorf("%s: got %s, %v, want /export", scheme, got, err)
		}
	}
	s.Stop()
	for _, scheme := range []string{"rdma", "tcp"} {
		got, err := list(command, scheme)
		if want := "TCP port 127.0.0.1:111: not registered; "; err == nil || !strings.Contains(got, want) {
			t.Errorf("%s, when it has ended: got %s, %v, want %q", scheme, got, err, want)
		}
	}
}
