package main

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// silentAddr returns an address where a listener never answers.
func silentAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// rpcAddr returns the address of a server of one program, which answers NULL or denies it.
func rpcAddr(t *testing.T, program uint32, deny bool) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := oncrpc.Program{Number: program, Version: 3}
	if deny {
		p.Authorize = func(context.Context, *oncrpc.Call) (context.Context, error) {
			return nil, &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
		}
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(p)
	over := make(chan struct{})
	go func() {
		defer close(over)
		recordmark.Serve(context.Background(), l, srv, recordmark.Config{})
	}()
	t.Cleanup(func() {
		srv.Close()
		<-over
	})
	return l.Addr().String()
}

// openPorts opens ports until the test ends.
func openPorts(t *testing.T) *serve.Ports {
	t.Helper()
	cfg := serve.NewConfig(nil)
	cfg.Listen, cfg.Mount = "127.0.0.1:0", "127.0.0.1:0"
	p, err := serve.Listen(t.Context(), cfg, false, metrics.New(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestServeRPCBindTaken: a server that is registered and answers keeps its registration.
func TestServeRPCBindTaken(t *testing.T) {
	for _, mount := range []string{"127.0.0.1:0", "none"} {
		p := newFakeRpcbind(t)
		first, ended := startRegistered(t, p.dial, "--mount", mount)
		first.greet(t)
		before := p.registered()
		second, refused := startRegistered(t, p.dial)
		at := first.tcp
		if at == "" {
			at = first.rdma
		}
		want := "--rpcbind: an NFS server is registered already and answers at " + at + ": stop it, or leave out --rpcbind"
		if err := <-refused; err == nil || err.Error() != want || second.stdout.String() != "" {
			t.Errorf("--mount %s: %v, want %q; on standard output: %v", mount, err, want, second.stdout)
		}
		if diff := cmp.Diff(before, p.registered()); diff != "" {
			t.Errorf("--mount %s: %s", mount, diff)
		}
		first.cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		third, _ := startRegistered(t, p.dial)
		third.greet(t)
		if got := third.stderr.String(); strings.Contains(got, "WARN") {
			t.Errorf("--mount %s: after that: %s", mount, got)
		}
	}
}

// TestReplaceable: registered servers are asked whether they are alive.
func TestReplaceable(t *testing.T) {
	const nfs, mount = 100003, 100005
	alive, mountd, denying := rpcAddr(t, nfs, false), rpcAddr(t, mount, false), rpcAddr(t, nfs,
		true)
	dead, silent := deadport.New(t, "127.0.0.1").String(), silentAddr(t)
	at := func(program, version uint32, netid, addr string) rpcbind.Mapping {
		return rpcbind.Mapping{Program: program, Version: version, Netid: netid,
			Addr: universal(t, addr)}
	}
	everywhere := "0.0.0.0" + strings.TrimPrefix(alive, "127.0.0.1")
	for _, tt := range []struct {
		name string
		all  []rpcbind.Mapping
		says string // at which address one is alive
		want string // what is to be replaced
	}{
		{"nothing", nil, "", ""},
		{"NFS", []rpcbind.Mapping{at(nfs, 3, "tcp", alive)}, alive, ""},
		{"everywhere", []rpcbind.Mapping{at(nfs, 3, "tcp", everywhere)}, alive, ""},
		{"beside a dead one", []rpcbind.Mapping{at(nfs, 3, "tcp6", dead), at(nfs, 3, "tcp", alive)}, alive, ""},
		{"denying", []rpcbind.Mapping{at(nfs, 3, "tcp", denying)}, denying, ""},
		{"MOUNT", []rpcbind.Mapping{at(nfs, 3, "tcp", dead), at(mount, 3, "tcp", mountd)}, mountd, ""},
		{"RDMA", []rpcbind.Mapping{at(nfs, 3, "rdma", silent)}, silent, ""},
		{"dead", []rpcbind.Mapping{at(nfs, 3, "tcp", dead)}, "", "100003.3 tcp"},
		{"dead, with RDMA", []rpcbind.Mapping{at(nfs, 3, "tcp", dead), at(nfs, 3, "rdma", silent)}, "", "100003.3 tcp, 100003.3 rdma"},
		{"dead, RDMA alone", []rpcbind.Mapping{at(mount, 3, "rdma", dead)}, "", "100005.3 rdma"},
		{"another program there", []rpcbind.Mapping{at(mount, 3, "tcp", alive)}, "", "100005.3 tcp"},
		{"other versions and programs", []rpcbind.Mapping{at(nfs, 4, "tcp", alive), at(mount, 1, "tcp", mountd), at(400000, 3, "tcp", alive)}, "", ""},
		{"in nobody's way", []rpcbind.Mapping{at(nfs, 3, "tcp6", dead), at(nfs, 3, "udp", alive)}, "", ""},
		{"no address", []rpcbind.Mapping{{Program: nfs, Version: 3, Netid: "tcp", Addr: "/run/nfs"}}, "", "100003.3 tcp"},
	} {
		c, err := newFakeRpcbind(t, tt.all...).dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		replaced, err := openPorts(t).Replaceable(t.Context(), c, time.Minute)
		c.Close()
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), " answers at "+tt.says+": ")) {
			t.Errorf("%s: %v, want one at %q", tt.name, err, tt.says)
		}
		var got []string
		for _, m := range replaced {
			m.Addr = ""
			got = append(got, m.String())
		}
		if got := strings.Join(got, ", "); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestReplaceableOurs: registrations at our own ports are left from an earlier run, and are not
// asked.
func TestReplaceableOurs(t *testing.T) {
	p := openPorts(t)
	left := p.Mappings()
	for i := range left {
		_, port, _ := net.SplitHostPort(p.TCP.Addr().String())
		left[i].Addr = universal(t, "0.0.0.0:"+port)
	}
	c, err := newFakeRpcbind(t, left...).dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got, err := p.Replaceable(t.Context(), c, time.Minute); err != nil || len(got) != 0 {
		t.Errorf("got %v, %v", got, err)
	}
}

// TestReplaceableLimit: a server that does not answer in time is not alive; but if this server is
// told to stop, that is an error.
func TestReplaceableLimit(t *testing.T) {
	left := rpcbind.Mapping{Program: 100003, Version: 3, Netid: "tcp",
		Addr: universal(t, silentAddr(t))}
	c, err := newFakeRpcbind(t, left).dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	p := openPorts(t)
	got, err := p.Replaceable(t.Context(), c, time.Millisecond)
	if err != nil || len(got) != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := p.Replaceable(ctx, c, time.Minute); err == nil {
		t.Errorf("got %v", got)
	}
}
