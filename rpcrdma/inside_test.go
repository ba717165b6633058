package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"reflect"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// What follows is for tests inside the package; those outside have their own.

const testProgram = 400_000

var quiet = slog.New(slog.DiscardHandler)

func wait[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	return hang.Receive(t, fmt.Sprintf("a value of type %v", reflect.TypeFor[T]()), ch)
}

func pattern(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, (n+7)&^7)
	for i := 0; i < len(p); i += 8 {
		binary.LittleEndian.PutUint64(p[i:], r.Uint64())
	}
	return p[:n:n]
}

func scribble(p []byte) {
	for i := range p {
		p[i] = 0x55
	}
}

func header(xid uint32, typ Type) *Header {
	return &Header{XID: xid, Version: ProtocolVersion, Credits: 32, Type: typ}
}

func callMessage(xid, proc uint32, args oncrpc.Marshaler) xdr.Message {
	var e xdr.Encoder
	h := oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: testProgram, Version: 1, Procedure: proc}
	h.Encode(&e)
	if args != nil {
		args.MarshalXDR(&e)
	}
	return e.Message()
}

// padded lays out an RDMA_MSGP, written independently of package xdr: data of least bytes or more
// is moved, with fill in front of it.
func padded(h *Header, m *xdr.Message, without []bool, least int, fill byte) []byte {
	b := h.Append(nil)
	inline, pos := m.Inline, 0
	for i, it := range m.Bulk {
		b = append(b, inline[:it.Position-pos]...)
		inline = inline[it.Position-pos:]
		pos = it.Position + (it.Len+3)/4*4
		if i < len(without) && without[i] {
			continue
		}
		if it.Len >= least {
			for h.Align > 0 && len(b)%int(h.Align) != 0 {
				b = append(b, fill)
			}
		}
		for _, p := range it.Data {
			b = append(b, p...)
		}
		b = append(b, make([]byte, (4-it.Len%4)%4)...)
	}
	return append(b, inline...)
}

// fakeEndpoint is a send queue that runs requests on demand. As on hardware, a request that is not
// signaled keeps its place in the queue until a later one completes.
type fakeEndpoint struct {
	depth  int
	domain transport.Domain
	peer   net.Addr
	full   func() // if set, called when Post finds no room
	done   chan struct{}

	mu     sync.Mutex               // guards what follows
	order  []*transport.WorkRequest // everything posted so far
	queue  []*transport.WorkRequest // everything that has not completed
	ran    int                      // of queue
	closed error
}

func newFakeEndpoint(depth int, d transport.Domain) *fakeEndpoint {
	return &fakeEndpoint{depth: depth, domain: d, done: make(chan struct{})}
}

func (e *fakeEndpoint) Post(wrs ...*transport.WorkRequest) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed != nil {
		return e.closed
	}
	if len(e.queue)+len(wrs) > e.depth {
		if e.full != nil {
			e.full()
		}
		return fmt.Errorf("fake: %w", transport.ErrQueueFull)
	}
	e.order = append(e.order, wrs...)
	e.queue = append(e.queue, wrs...)
	return nil
}

// run runs the next request and reports whether there was one.
func (e *fakeEndpoint) run() bool {
	e.mu.Lock()
	if e.ran == len(e.queue) {
		e.mu.Unlock()
		return false
	}
	wr := e.queue[e.ran]
	e.ran++
	signaled := wr.Flags&transport.Signaled != 0
	if signaled {
		e.queue, e.ran = e.queue[e.ran:], 0
	}
	e.mu.Unlock()
	if signaled {
		wr.Done.Complete(wr, nil)
	}
	return true
}

// finish completes one request, wherever it stands in the queue.
func (e *fakeEndpoint) finish(which func(*transport.WorkRequest) bool) bool {
	e.mu.Lock()
	for i, wr := range e.queue {
		if which(wr) {
			e.queue = append(e.queue[:i:i], e.queue[i+1:]...)
			e.mu.Unlock()
			wr.Done.Complete(wr, nil)
			return true
		}
	}
	e.mu.Unlock()
	return false
}

// end ends the connection in two steps: from the first on Post fails; flush then completes what was
// posted.
func (e *fakeEndpoint) end() (flush func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed == nil {
		e.closed = fmt.Errorf("fake: %w", net.ErrClosed)
	}
	return func() {
		e.mu.Lock()
		rest := e.queue[e.ran:]
		e.queue, e.ran = nil, 0
		e.mu.Unlock()
		for _, wr := range rest {
			wr.Done.Complete(wr, fmt.Errorf("fake: %w", transport.ErrFlushed))
		}
		close(e.done)
	}
}

func (e *fakeEndpoint) posted() []*transport.WorkRequest {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.order[:len(e.order):len(e.order)]
}

func (e *fakeEndpoint) Start(transport.MessageHandler)           {}
func (e *fakeEndpoint) PostRecv(...*transport.RecvRequest) error { return nil }
func (e *fakeEndpoint) Revoke(...transport.Region) error         { return nil }
func (e *fakeEndpoint) Domain() transport.Domain                 { return e.domain }
func (e *fakeEndpoint) Info() transport.Info {
	return transport.Info{RemoteAddr: e.peer, SendDepth: e.depth, RecvDepth: 1024}
}
func (e *fakeEndpoint) Close() error          { return nil }
func (e *fakeEndpoint) Done() <-chan struct{} { return e.done }
func (e *fakeEndpoint) Err() error            { return net.ErrClosed }
func (e *fakeEndpoint) Expose(dst []transport.Region, _ []transport.Slice, _ transport.Access) ([]transport.Region, error) {
	return dst, errors.ErrUnsupported
}
