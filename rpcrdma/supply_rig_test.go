package rpcrdma_test

import (
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// testReceiveSize is the size in bytes of receives in these tests: one that no other memory has.
const testReceiveSize = 5120

// How many receives a connection may have beyond ReceiveMemory, and how many if its peer reads
// replies: the package's documentation says so.
const (
	freeReceives     = 2
	freeReceivesRead = 3
)

// allocMeter is a Domain that notes the most that was ever allocated, of receives and in all.
type allocMeter struct {
	transport.Domain

	mu                 sync.Mutex // guards what follows
	bytes, most        int
	receives, mostRecv int
}

func (m *allocMeter) Alloc(n int, access transport.Access) (transport.Slice, error) {
	m.count(n)
	return m.Domain.Alloc(n, access)
}

func (m *allocMeter) count(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.bytes += n
	m.most = max(m.most, m.bytes)
	if n == testReceiveSize || -n == testReceiveSize {
		m.receives += n / testReceiveSize
		m.mostRecv = max(m.mostRecv, m.receives)
	}
}

func (m *allocMeter) Free(s transport.Slice) {
	m.Domain.Free(s)
	m.count(-len(s.Bytes))
}

// manyClients is a rig on any provider, with many clients and metered receives of testReceiveSize
// bytes. It is for tests of Config.ReceiveMemory, and of the memory of idle connections.
type manyClients struct {
	*rig
	meter   *allocMeter
	clients []*rpcrdma.Conn
}

// newManyClients makes a server and n clients of it, which stay until the end of the test.
func newManyClients(t testing.TB, provider string, n int, cfg rpcrdma.Config) *manyClients {
	t.Helper()
	cfg.InlineRecv = testReceiveSize
	domain := new(loopback.Domain)
	t.Cleanup(func() {
		if n, size := domain.Allocated(); n != 0 {
			t.Errorf("%d pieces of memory leaked, %d bytes", n, size)
		}
	})
	meter := &allocMeter{Domain: domain}
	l, d := providers[provider](t)
	r := serveRig(t, cfg, l, d, func(ep transport.Endpoint) transport.Endpoint {
		return ownDomain{ep.(transporttest.FullEndpoint), meter}
	})
	m := &manyClients{rig: r, meter: meter}
	m.join(n)
	return m
}

// idle reports whether a connection has no memory reserved: then it does not answer for that for
// all its peer may send.
func (m *manyClients) idle(c *rpcrdma.Conn) bool { return !m.ledgers.of(m.t, c).state().Ready }

// join makes more clients.
func (m *manyClients) join(n int) {
	m.t.Helper()
	for range n {
		m.clients = append(m.clients, m.dialOn(rpcrdma.Config{}, sameEndpoint))
	}
}

// together makes n calls at a time that do nothing, with one ahead of them that brings the credits
// for that.
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
	hang.Wait(t, "the callers", &wg)
}

// block makes a call that ends when the program's gate says so, or the other way.
func block(t testing.TB, c *rpcrdma.Conn) chan error {
	err := make(chan error, 1)
	go func() { err <- client(c).Call(t.Context(), procBlock, &items{}, &items{}) }()
	return err
}
