package rpcbind_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

var (
	nfsTCP  = rpcbind.Mapping{Program: 100003, Version: 3, Netid: "tcp", Addr: "0.0.0.0.8.1"}
	nfsRDMA = rpcbind.Mapping{Program: 100003, Version: 3, Netid: "rdma", Addr: "0.0.0.0.78.81"}
)

func both() *fakeRpcbind { return &fakeRpcbind{versions: []uint32{3, 4}} }

func TestClient(t *testing.T) {
	for _, tt := range []struct {
		network  string
		versions []uint32
	}{{"tcp", []uint32{3, 4}}, {"unix", []uint32{3, 4}}, {"tcp", []uint32{3}}} {
		f := (&fakeRpcbind{versions: tt.versions}).start(t, tt.network)
		c := f.dial(t)
		ctx := t.Context()
		for range 2 { // the same mapping twice is all right
			if err := c.Set(ctx, nfsTCP); err != nil {
				t.Fatal(err)
			}
		}
		other := nfsTCP
		other.Addr = "0.0.0.0.8.2"
		if err := c.Set(ctx, other); !errors.Is(err, rpcbind.ErrRefused) {
			t.Errorf("another address: got %v, want ErrRefused", err)
		}
		if err := c.Set(ctx, nfsRDMA); err != nil {
			t.Fatal(err)
		}
		got, err := c.Dump(ctx)
		want := []rpcbind.Mapping{nfsTCP, nfsRDMA}
		if err != nil || !equal(got, want) || got[0].Owner != owner {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		if err := c.Unset(ctx, nfsTCP); err != nil {
			t.Error(err)
		}
		if err := c.Unset(ctx, nfsTCP); !errors.Is(err, rpcbind.ErrRefused) {
			t.Errorf("got %v, want ErrRefused", err)
		}
		if got, want := f.mappings(), []rpcbind.Mapping{nfsRDMA}; !equal(got, want) {
			t.Errorf("left: %v, want %v", got, want)
		}
	}
}

// GETADDR is used only for the transport of the connection.
func TestGetAddr(t *testing.T) {
	tests := []struct {
		network, netid string
		want           string
	}{
		{"tcp", "tcp", "merged 0.0.0.0.8.1"},
		{"tcp", "", "merged 0.0.0.0.8.1"},
		{"tcp", "rdma", "0.0.0.0.78.81"},
		{"unix", "tcp", "0.0.0.0.8.1"},
		{"unix", "local", "merged 0.0.0.0.8.1"},
		{"unix", "rdma", "0.0.0.0.78.81"},
	}
	for _, tt := range tests {
		f := both()
		f.list = []rpcbind.Mapping{nfsTCP, nfsRDMA}
		c := f.start(t, tt.network).dial(t)
		for _, get := range []func(context.Context, rpcbind.Mapping) (string, error){c.GetAddr, c.GetVersAddr} {
			m := rpcbind.Mapping{Program: 100003, Version: 3, Netid: tt.netid}
			if got, err := get(t.Context(), m); err != nil || got != tt.want {
				t.Errorf("%s, %q: got %q, %v, want %q", tt.network, tt.netid, got, err, tt.want)
			}
			for _, absent := range []rpcbind.Mapping{
				{Program: 100003, Version: 4, Netid: tt.netid},
				{Program: 100005, Version: 3, Netid: tt.netid},
				{Program: 100003, Version: 4, Netid: "rdma6"},
			} {
				if got, err := get(t.Context(), absent); !errors.Is(err, rpcbind.ErrNotRegistered) || got != "" {
					t.Errorf("%s, %v: got %q, %v, want ErrNotRegistered", tt.network, absent, got,
						err)
				}
			}
		}
	}
}

// A server that refuses remote callers answers with an authentication error.
func TestDenied(t *testing.T) {
	f := both()
	f.denies = true
	c := f.start(t, "tcp").dial(t)
	for _, change := range []func(context.Context, rpcbind.Mapping) error{c.Set, c.Unset} {
		err := change(t.Context(), nfsTCP)
		var auth *oncrpc.AuthError
		if !errors.Is(err, rpcbind.ErrRefused) || !errors.As(err, &auth) {
			t.Errorf("got %v, want ErrRefused and an AuthError", err)
		}
	}
	if _, err := rpcbind.Register(t.Context(), c, []rpcbind.Mapping{nfsTCP}); !errors.Is(err, rpcbind.ErrRefused) {
		t.Errorf("got %v, want ErrRefused", err)
	}
}

// A client dials again when its connection has ended.
func TestReconnect(t *testing.T) {
	f := both().start(t, "tcp")
	c := f.dial(t)
	for i := range 5 {
		m := nfsTCP
		m.Version = uint32(i)
		if err := c.Set(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		f.hangUp()
	}
	if got := f.mappings(); len(got) != 5 {
		t.Errorf("got %v, want 5 mappings", got)
	}
}

// A client made with NewClient cannot.
func TestNoReconnect(t *testing.T) {
	f := both().start(t, "tcp")
	conn, err := recordmark.Dial(t.Context(), f.addr.String(),
		recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		t.Fatal(err)
	}
	c := rpcbind.NewClient(conn)
	defer c.Close()
	if err := c.Set(t.Context(), nfsTCP); err != nil {
		t.Fatal(err)
	}
	f.hangUp()
	<-conn.Done()
	if err := c.Set(t.Context(), nfsTCP); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v, want net.ErrClosed", err)
	}
}

func TestClose(t *testing.T) {
	c := both().start(t, "tcp").dial(t)
	for range 2 {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := c.Set(t.Context(), nfsTCP); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Set: got %v, want net.ErrClosed", err)
	}
	if _, err := c.GetAddr(t.Context(), nfsTCP); !errors.Is(err, net.ErrClosed) {
		t.Errorf("GetAddr: got %v, want net.ErrClosed", err)
	}
}

func TestContext(t *testing.T) {
	f := both().start(t, "tcp")
	c := f.dial(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Dump(ctx)
	var op *rpcbind.OpError
	if !errors.Is(err, context.Canceled) || !errors.As(err, &op) || op.Op != "dump" || op.Timeout() {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 0)
	defer cancel()
	if err := c.Set(ctx, nfsTCP); !errors.As(err, &op) || !op.Timeout() || op.Mapping != nfsTCP {
		t.Errorf("got %v, want a timeout", err)
	}
	if got := f.calls(); len(got) != 0 {
		t.Errorf("called %v", got)
	}
}

func TestDialFirst(t *testing.T) {
	f := both().start(t, "tcp")
	nobody := filepath.Join(t.TempDir(), "nobody")
	c, err := rpcbind.DialFirst(t.Context(), [2]string{"unix", nobody},
		[2]string{"tcp", f.addr.String()}, [2]string{"unix", "never"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Set(t.Context(), nfsTCP); err != nil {
		t.Error(err)
	}
	_, err = rpcbind.DialFirst(t.Context(), [2]string{"unix", nobody},
		[2]string{"unix", nobody + "2"})
	missing := syscall.ENOENT.Error() // in the words of the system
	want := "rpcbind dial: no rpcbind here: unix " + nobody + ": " + missing + "; unix " + nobody + "2: " + missing
	if !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, err = rpcbind.Dial(t.Context(), "unix", nobody)
	if want := "rpcbind dial: unix " + nobody + ": " + missing; !errors.Is(err, fs.ErrNotExist) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A timeout is reported as such, whatever went wrong with earlier endpoints.
func TestDialTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 0)
	defer cancel()
	nobody := [2]string{"unix", filepath.Join(t.TempDir(), "nobody")}
	var op *rpcbind.OpError
	if _, err := rpcbind.DialFirst(ctx, [2]string{"nonsense", ""}, nobody); !errors.As(err, &op) || !op.Timeout() {
		t.Errorf("got %v, want a timeout", err)
	}
	if _, err := rpcbind.DialFirst(t.Context(), [2]string{"nonsense", ""}, nobody); !errors.As(err, &op) || op.Timeout() {
		t.Errorf("got %v, want an error that is no timeout", err)
	}
}

// Malformed answers end in an error.
func TestHostile(t *testing.T) {
	item := make([]byte, 4+5*4)
	item[3] = 1
	for name, results := range map[string][]byte{
		"a list without end":   slices.Repeat(item, 100_000),
		"a list that is cut":   item[:20],
		"a string of 4 GiB":    {0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255},
		"nothing":              {},
		"more than the answer": make([]byte, 8),
	} {
		answer := oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Raw(results)
			return nil
		}}
		f := (&fakeRpcbind{}).start(t, "tcp")
		f.server.Handle(oncrpc.Program{Number: rpcbind.Program, Version: 4, Procedures: slices.Repeat([]oncrpc.Procedure{answer}, 10)},
			oncrpc.Program{Number: rpcbind.Program, Version: 2, Procedures: slices.Repeat([]oncrpc.Procedure{answer}, 10)})
		c := f.dial(t)
		if got, err := c.Dump(t.Context()); !errors.Is(err, oncrpc.ErrMalformedReply) || got != nil {
			t.Errorf("%s: got %d mappings, %v", name, len(got), err)
		}
		if got, err := c.DumpPorts(t.Context()); !errors.Is(err, oncrpc.ErrMalformedReply) || got != nil {
			t.Errorf("%s: got %d ports, %v", name, len(got), err)
		}
		if err := c.Set(t.Context(), nfsTCP); !errors.Is(err, oncrpc.ErrMalformedReply) {
			t.Errorf("%s: set: %v", name, err)
		}
		if got, err := c.GetVersAddr(t.Context(), nfsTCP); !errors.Is(err, oncrpc.ErrMalformedReply) || got != "" {
			t.Errorf("%s: getversaddr: %q, %v", name, got, err)
		}
	}
}

func TestErrorString(t *testing.T) {
	for want, err := range map[string]*rpcbind.OpError{
		"rpcbind set 100003.3 tcp 0.0.0.0.8.1: refused":              {Op: "set", Mapping: nfsTCP, Err: rpcbind.ErrRefused},
		"rpcbind getaddr 100005.1: not registered":                   {Op: "getaddr", Mapping: rpcbind.Mapping{Program: 100005, Version: 1}, Err: rpcbind.ErrNotRegistered},
		"rpcbind getport 100005.1 protocol 6 port 0: not registered": {Op: "getport", Mapping: rpcbind.PortMapping{Program: 100005, Version: 1, Protocol: 6}, Err: rpcbind.ErrNotRegistered},
		"rpcbind dump: refused":                                      {Op: "dump", Err: rpcbind.ErrRefused},
	} {
		if got := err.Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
