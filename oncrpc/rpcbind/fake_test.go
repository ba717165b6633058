package rpcbind_test

import (
	"context"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// owner is the owner of mappings registered with a fake.
const owner = "test"

// fakeRpcbind is a server that keeps mappings like rpcbind, and can refuse to.
type fakeRpcbind struct {
	versions []uint32 // the versions that it supports, of 3 and 4
	denies   bool     // refuses all changes
	fails    string   // a netid that it refuses
	asked    func(call string)

	addr   net.Addr
	server *oncrpc.Server

	mu    sync.Mutex // guards the fields below
	list  []rpcbind.Mapping
	log   []string // received calls
	conns []net.Conn
}

// start makes f listen on network, "tcp" or "unix", until the test ends.
func (f *fakeRpcbind) start(t *testing.T, network string) *fakeRpcbind {
	t.Helper()
	where := "127.0.0.1:0"
	if network == "unix" {
		where = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, where)
	if err != nil {
		t.Fatal(err)
	}
	f.addr = l.Addr()
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	f.server = s
	for _, v := range f.versions {
		s.Handle(f.program(v))
	}
	served := make(chan error, 1)
	go func() {
		served <- recordmark.Serve(context.Background(), &listener{l, f}, s, recordmark.Config{Logger: quiet})
	}()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return f
}

// listener records its connections.
type listener struct {
	net.Listener
	f *fakeRpcbind
}

func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.f.mu.Lock()
		l.f.conns = append(l.f.conns, conn)
		l.f.mu.Unlock()
	}
	return conn, err
}

// hangUp closes all connections, as rpcbind does with idle ones.
func (f *fakeRpcbind) hangUp() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.conns {
		c.Close()
	}
	f.conns = nil
}

func (f *fakeRpcbind) mappings() []rpcbind.Mapping {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}

func (f *fakeRpcbind) calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.log)
}

func (f *fakeRpcbind) program(version uint32) oncrpc.Program {
	handle := func(name string, h func(m rpcbind.Mapping, c *oncrpc.Call) error) oncrpc.Procedure {
		return oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
			var m rpcbind.Mapping
			if name != "dump" {
				m.UnmarshalXDR(c.Args)
			}
			if err := c.Args.Finish(); err != nil {
				return err
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			call := name
			if m.Program != 0 {
				call += " " + m.String()
			}
			f.log = append(f.log, call)
			if f.asked != nil {
				f.asked(call)
			}
			return h(m, c)
		}}
	}
	procs := []oncrpc.Procedure{
		1: handle("set", f.set),
		2: handle("unset", f.unset),
		3: handle("getaddr", f.get),
		4: handle("dump", f.dump),
	}
	if version == 4 {
		procs = append(procs, make([]oncrpc.Procedure, 4)...)
		procs = append(procs, handle("getversaddr", f.get))
	}
	return oncrpc.Program{Number: rpcbind.Program, Version: version, Procedures: procs}
}

func (f *fakeRpcbind) find(m rpcbind.Mapping) int {
	return slices.IndexFunc(f.list, func(x rpcbind.Mapping) bool {
		return x.Program == m.Program && x.Version == m.Version && x.Netid == m.Netid
	})
}

func (f *fakeRpcbind) set(m rpcbind.Mapping, c *oncrpc.Call) error {
	if f.denies {
		return &oncrpc.AuthError{Stat: oncrpc.AuthFailed}
	}
	i := f.find(m)
	if i < 0 && m.Netid != f.fails {
		m.Owner = owner
		f.list = append(f.list, m)
	}
	c.Results.Bool(i >= 0 && f.list[i].Addr == m.Addr || i < 0 && m.Netid != f.fails)
	return nil
}

func (f *fakeRpcbind) unset(m rpcbind.Mapping, c *oncrpc.Call) error {
	if f.denies {
		return &oncrpc.AuthError{Stat: oncrpc.AuthFailed}
	}
	i := f.find(m)
	if i >= 0 && f.list[i].Owner == owner {
		f.list = slices.Delete(f.list, i, i+1)
		c.Results.Bool(true)
	} else {
		c.Results.Bool(false)
	}
	return nil
}

// get answers as for a call over TCP, and marks the answer.
func (f *fakeRpcbind) get(m rpcbind.Mapping, c *oncrpc.Call) error {
	m.Netid = "tcp"
	if i := f.find(m); i >= 0 {
		c.Results.String("merged "+f.list[i].Addr, 1000)
	} else {
		c.Results.String("", 1000)
	}
	return nil
}

func (f *fakeRpcbind) dump(_ rpcbind.Mapping, c *oncrpc.Call) error {
	for _, m := range f.list {
		c.Results.Bool(true)
		m.MarshalXDR(c.Results)
	}
	c.Results.Bool(false)
	return nil
}

// dial connects to f.
func (f *fakeRpcbind) dial(t *testing.T) *rpcbind.Client {
	t.Helper()
	c, err := rpcbind.Dial(t.Context(), f.addr.Network(), f.addr.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func equal(a, b []rpcbind.Mapping) bool {
	return slices.EqualFunc(a, b, func(x, y rpcbind.Mapping) bool {
		x.Owner, y.Owner = "", ""
		return x == y
	})
}
