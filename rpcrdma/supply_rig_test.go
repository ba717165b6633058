package rpcrdma_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// testReceiveSize is the size in bytes of receives in these tests: one that no other memory has.
const testReceiveSize = 5120

// How many receives a connection may have beyond ReceiveMemory, in the Draft and otherwise: the
// package's documentation says so.
const (
	freeReceives     = 2
	freeReceivesRead = 3
)

// allocMeter is a Domain that notes the most that was ever allocated, of receives of one size and in all.
type allocMeter struct {
	transport.Domain
	receive int

	mu                 sync.Mutex // guards what follows
	bytes, most        int
	receives, mostRecv int
}

func (m *allocMeter) Alloc(n int, access transport.Access) (transport.Slice, error) {
	s, err := m.Domain.Alloc(n, access)
	m.count(n, err == nil)
	return s, err
}

func (m *allocMeter) count(n int, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !ok {
		return
	}
	m.bytes += n
	m.most = max(m.most, m.bytes)
	if n == m.receive || -n == m.receive {
		m.receives += n / m.receive
		m.mostRecv = max(m.mostRecv, m.receives)
	}
}

func (m *allocMeter) Free(s transport.Slice) {
	m.Domain.Free(s)
	m.count(-len(s.Bytes), true)
}

func (m *allocMeter) Import(p []byte) (transport.Slice, error) { return transport.Slice{Bytes: p}, nil }
func (m *allocMeter) Release(transport.Slice)                  {}

// meteredEndpoint takes memory of an allocMeter.
type meteredEndpoint struct {
	transport.Endpoint
	transport.SharedReceiver
	transport.Abandoner
	meter *allocMeter
}

func (e meteredEndpoint) Domain() transport.Domain { return e.meter }

// crowd is a server with little memory for receives, and its clients.
type crowd struct {
	server  *oncrpc.Server
	program *program
	meter   *allocMeter
	addr    string
	dialer  transport.Dialer
	clients []*rpcrdma.Conn
	cfg     rpcrdma.Config
	ledgers ledgers // of the server's connections
}

// providers are what the tests below run on.
var providers = map[string]func(t testing.TB) (transport.Listener, transport.Dialer){
	"loopback": func(t testing.TB) (transport.Listener, transport.Dialer) {
		f := loopback.New()
		l, err := f.Listen(rigAddr, loopback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		return l, f.Dialer(loopback.Config{})
	},
	"iwarp": func(t testing.TB) (transport.Listener, transport.Dialer) {
		l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		return l, iwarp.Dialer{Config: iwarp.Config{Logger: quiet}}
	},
}

// newCrowd makes a server and n clients of it, which stay until the end of the test.
func newCrowd(t testing.TB, provider string, n int, cfg rpcrdma.Config) *crowd {
	t.Helper()
	cfg.Logger, cfg.InlineRecv = quiet, testReceiveSize
	l, d := providers[provider](t)
	cr := &crowd{
		server:  oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet}),
		program: newProgram(),
		meter:   &allocMeter{Domain: new(loopback.Domain), receive: testReceiveSize},
		addr:    l.Addr().String(),
		dialer:  d,
		cfg:     cfg,
	}
	cr.server.Handle(cr.program.program())
	served := make(chan error, 1)
	l = transport.WrapListener(l, func(ep transport.Endpoint) transport.Endpoint {
		ep = cr.ledgers.wrap(ep)
		return meteredEndpoint{ep, ep.(transport.SharedReceiver), ep.(transport.Abandoner), cr.meter}
	})
	go func() { served <- rpcrdma.Serve(context.Background(), l, cr.server, cfg) }()
	t.Cleanup(func() {
		for _, c := range cr.clients {
			c.Close()
		}
		cr.server.Close()
		if err := wait(t, served); !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
		if n, size := cr.meter.Domain.(*loopback.Domain).Allocated(); n != 0 {
			t.Errorf("%d pieces of memory leaked, %d bytes", n, size)
		}
	})
	cr.dial(t, n)
	return cr
}

// idle reports whether a connection has no memory reserved: then it does not answer for that for
// all its peer may send.
func (cr *crowd) idle(t testing.TB, c *rpcrdma.Conn) bool { return !cr.ledgers.of(t, c).state().Ready }

// dial makes more clients.
func (cr *crowd) dial(t testing.TB, n int) {
	t.Helper()
	for range n {
		c, err := rpcrdma.Dial(context.Background(), cr.dialer, cr.addr, rpcrdma.Config{Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		cr.clients = append(cr.clients, c)
	}
}

// endpoint makes a connection whose client is played by hand.
func (cr *crowd) endpoint(t testing.TB) transport.Endpoint {
	t.Helper()
	ep, err := cr.dialer.Dial(context.Background(), cr.addr, inline4k.bytes())
	if err != nil {
		t.Fatal(err)
	}
	return ep
}

// together makes n calls at a time that do nothing, with one ahead of them that brings the credits for that.
func together(t testing.TB, c *rpcrdma.Conn, n int) {
	t.Helper()
	call := func() {
		if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
			t.Error(err)
		}
	}
	call()
	var wg sync.WaitGroup
	for range n {
		wg.Go(call)
	}
	wg.Wait()
}

// block makes a call that ends when the program's gate says so, or the other way.
func block(t testing.TB, c *rpcrdma.Conn) chan error {
	err := make(chan error, 1)
	go func() { err <- client(c).Call(t.Context(), procBlock, &items{}, &items{}) }()
	return err
}
