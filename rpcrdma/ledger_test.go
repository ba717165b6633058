package rpcrdma_test

import (
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// ledger is an endpoint that keeps account of what a connection does with it.
type ledger struct {
	transporttest.FullEndpoint
	receiver transport.MessageHandler
	source   transport.RecvSource // nil if receives are posted with their memory

	mu      sync.Mutex // guards what follows
	awaited int        // messages that the peer may send and that have not arrived
	windows int        // exposed regions that are not revoked
}

// ledgers are those of the connections of a test.
type ledgers struct{ all sync.Map }

// wrap makes the ledger of an endpoint.
func (ls *ledgers) wrap(ep transport.Endpoint) transport.Endpoint {
	full, ok := ep.(transporttest.FullEndpoint)
	if !ok {
		return ep
	}
	l := &ledger{FullEndpoint: guard(full)}
	ls.all.Store(ep.Info().RemoteAddr.String(), l)
	return l
}

// of returns the ledger of a connection.
func (ls *ledgers) of(t testing.TB, c *rpcrdma.Conn) *ledger {
	t.Helper()
	l, ok := ls.all.Load(c.RemoteAddr().String())
	if !ok {
		t.Fatalf("there is no account of the connection to %v", c.RemoteAddr())
	}
	return l.(*ledger)
}

func (l *ledger) posted(n int, err error) error {
	if err == nil {
		l.mu.Lock()
		l.awaited += n
		l.mu.Unlock()
	}
	return err
}

func (l *ledger) PostRecv(rs ...*transport.RecvRequest) error {
	return l.posted(len(rs), l.FullEndpoint.PostRecv(rs...))
}

func (l *ledger) PromiseRecv(n int) error { return l.posted(n, l.FullEndpoint.PromiseRecv(n)) }

func (l *ledger) ShareRecv(src transport.RecvSource) {
	l.source = src
	l.FullEndpoint.ShareRecv(src)
}

func (l *ledger) Start(r transport.MessageHandler) {
	l.receiver = r
	l.FullEndpoint.Start(l)
}

func (l *ledger) Received(batch []transport.Message) {
	l.mu.Lock()
	l.awaited -= len(batch)
	l.mu.Unlock()
	l.receiver.Received(batch)
}

func (l *ledger) Post(wrs ...*transport.WorkRequest) error {
	return l.sending(wrs, l.FullEndpoint.Post)
}

func (l *ledger) PostPolled(wrs ...*transport.WorkRequest) error {
	return l.sending(wrs, l.FullEndpoint.PostPolled)
}

func (l *ledger) sending(wrs []*transport.WorkRequest,
	post func(...*transport.WorkRequest) error) error {
	ends := 0
	for _, wr := range wrs {
		if wr.Op == transport.OpInvalidate {
			ends++
		}
	}
	err := post(wrs...)
	if err == nil {
		l.opened(-ends)
	}
	return err
}

func (l *ledger) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	rs, err := l.FullEndpoint.Expose(dst, list, access)
	l.opened(len(rs) - len(dst))
	return rs, err
}

func (l *ledger) Revoke(regions ...transport.Region) error {
	l.opened(-len(regions))
	return l.FullEndpoint.Revoke(regions...)
}

func (l *ledger) opened(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.windows += n
}

// state is what a connection has at its endpoint.
type state struct {
	Awaited int // messages that the peer may send
	Windows int // regions exposed
	// Memory is reserved for the messages that the peer may send, or none is needed. This is false
	// on a server's idle connection.
	Ready bool
}

func (l *ledger) state() state {
	ready := l.source != nil && l.source.Ready()
	l.mu.Lock()
	defer l.mu.Unlock()
	return state{l.awaited, l.windows, ready}
}
