package transporttest

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// end is an endpoint under test with all that was made for it.
type end struct {
	transport.Endpoint
	t       *testing.T
	name    string
	ledger  ledger
	inbox   inbox
	started sync.Once

	mu      sync.Mutex // guards the fields below
	bufs    []transport.Slice
	regions []transport.Region
}

func (r *rig) end(name string, ep transport.Endpoint) *end {
	e := &end{Endpoint: ep, t: r.t, name: name}
	e.inbox.arrived = make(chan struct{}, 1)
	r.ends = append(r.ends, e)
	return e
}

// start starts the endpoint, the first time.
func (e *end) start() { e.started.Do(func() { e.Start(&e.inbox) }) }

// alloc returns n zeroes of the endpoint's domain.
func (e *end) alloc(n int) transport.Slice {
	e.t.Helper()
	s, err := e.Domain().Alloc(n, anyAccess)
	if err != nil || len(s.Bytes) != n {
		e.t.Fatalf("%s: Alloc(%d) returned %d bytes, error %v", e.name, n, len(s.Bytes), err)
	}
	clear(s.Bytes)
	e.mu.Lock()
	e.bufs = append(e.bufs, s)
	e.mu.Unlock()
	return s
}

// hold returns domain memory that holds p.
func (e *end) hold(p []byte) transport.Slice {
	e.t.Helper()
	s := e.alloc(len(p))
	copy(s.Bytes, p)
	return s
}

// expose opens a window.
func (e *end) expose(access transport.Access, list ...transport.Slice) transport.Region {
	e.t.Helper()
	r := Expose(e.t, e.Endpoint, list, access)
	if r.Len != uint64(transport.TotalLen(list)) || r.Base+r.Len < r.Base || r.STag == 0 {
		e.t.Fatalf("%s: Expose of %d bytes returned %+v", e.name, transport.TotalLen(list), r)
	}
	e.mu.Lock()
	e.regions = append(e.regions, r)
	e.mu.Unlock()
	return r
}

// receives posts n receives of size bytes.
func (e *end) receives(n, size int) {
	e.t.Helper()
	for range n {
		r := &transport.Receive{Local: []transport.Slice{e.alloc(size)}}
		if err := e.inbox.post(e, r); err != nil {
			e.t.Fatalf("%s: PostRecv: %v", e.name, err)
		}
	}
}

// post posts requests.
func (e *end) post(wrs ...*transport.WorkRequest) []*entry {
	e.t.Helper()
	entries, err := e.ledger.post(e, wrs...)
	if err != nil {
		e.t.Fatalf("%s: Post: %v", e.name, err)
	}
	return entries
}

// do posts one request and waits until it has succeeded.
func (e *end) do(wr *transport.WorkRequest) {
	e.t.Helper()
	wr.Flags |= transport.Signaled
	if err := e.completion(e.post(wr)[0]); err != nil {
		e.t.Fatalf("%s: %v: %v", e.name, wr.Op, err)
	}
}

// send sends p.
func (e *end) send(p []byte) {
	e.t.Helper()
	e.do(send(e.hold(p)))
}

// completion waits for the completion of a request.
func (e *end) completion(en *entry) error {
	e.t.Helper()
	wait(e.t, e.name+": completion of "+en.String(), en.done)
	return en.err
}

// next waits for the next message.
func (e *end) next() message {
	e.t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		if m, ok := e.inbox.take(); ok {
			return m
		}
		select {
		case <-e.inbox.arrived:
		case <-e.Done():
			if m, ok := e.inbox.take(); ok {
				return m
			}
			e.t.Fatalf("%s: the connection ended while a message was expected: %v", e.name, e.Err())
		case <-timer.C:
			hang(e.t, e.name+": a message")
		}
	}
}

// ended waits for the end of the connection.
func (e *end) ended() {
	e.t.Helper()
	wait(e.t, e.name+": Done", e.Done())
	if e.Err() == nil {
		e.t.Errorf("%s: Err is nil after Done", e.name)
	}
}

// release gives everything back after the connection has ended, and checks the books.
func (e *end) release() {
	e.t.Helper()
	if err := e.Revoke(e.regions...); err != nil && !errors.Is(err, net.ErrClosed) {
		e.t.Errorf("%s: Revoke after the end: %v", e.name, err)
	}
	for _, s := range e.bufs {
		e.Domain().Free(s)
	}
	e.ledger.close(e.t, e.name)
	e.inbox.close(e.t, e.name)
}
