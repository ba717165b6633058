package transporttest

import (
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// end is an endpoint under test, with everything that was made for it.
type end struct {
	transport.Endpoint
	t       *testing.T
	name    string
	advice  string // what may be the cause if the end waits in vain
	ledger  ledger
	inbox   inbox
	started sync.Once
	failed  bool   // no connection was made
	source  source // of a SharedReceiver

	mu      sync.Mutex // guards the fields below
	bufs    []transport.Slice
	regions []transport.Region
}

// end makes an end of an endpoint that is being prepared.
func (r *rig) end(name string, ep transport.Endpoint) *end {
	e := &end{Endpoint: ep, t: r.t, name: name}
	if !r.f.DialerFirst {
		e.advice = " (if the listening end may send only after the dialing end, set Factory.DialerFirst)"
	}
	e.inbox.arrived = make(chan struct{}, 1)
	if s, ok := transport.As[transport.SharedReceiver](ep); ok {
		s.ShareRecv(&e.source)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ends = append(r.ends, e)
	return e
}

// source is the RecvSource of an end, which it gets when it is prepared. A test may replace what it
// returns before it starts the end.
type source struct{ by transport.RecvSource }

// Receive implements transport.RecvSource.
func (s *source) Receive() *transport.RecvRequest {
	if s.by == nil {
		return nil
	}
	return s.by.Receive()
}

// Ready implements transport.RecvSource.
func (s *source) Ready() bool { return s.by == nil || s.by.Ready() }

// start starts the endpoint if it has not been started.
func (e *end) start() { e.started.Do(func() { e.Start(&e.inbox) }) }

// alloc returns n zero bytes of the endpoint's Domain.
func (e *end) alloc(n int) transport.Slice {
	e.t.Helper()
	return e.allocFor(n, anyAccess)
}

// allocFor is alloc for one kind of access.
func (e *end) allocFor(n int, access transport.Access) transport.Slice {
	e.t.Helper()
	s, err := e.Domain().Alloc(n, access)
	if err != nil || len(s.Bytes) != n {
		e.t.Fatalf("%s: Alloc(%d) returned %d bytes, error %v", e.name, n, len(s.Bytes), err)
	}
	clear(s.Bytes)
	e.mu.Lock()
	e.bufs = append(e.bufs, s)
	e.mu.Unlock()
	return s
}

// hold returns memory of the Domain with a copy of p.
func (e *end) hold(p []byte) transport.Slice {
	e.t.Helper()
	s := e.alloc(len(p))
	copy(s.Bytes, p)
	return s
}

// expose opens a window over memory that must fit in one Region.
func (e *end) expose(access transport.Access, s transport.Slice) transport.Region {
	e.t.Helper()
	w := e.window(access, s)
	if len(w) != 1 {
		e.t.Fatalf("%s: Expose of %d bytes returned %d regions, want 1", e.name, s.Len(), len(w))
	}
	return w[0]
}

// window opens a window over any memory.
func (e *end) window(access transport.Access, list ...transport.Slice) window {
	e.t.Helper()
	other := transport.Region{STag: 1, Base: 2, Len: 3}
	rs, err := e.Expose([]transport.Region{other}, list, access)
	if err != nil {
		e.t.Fatalf("%s: Expose: %v", e.name, err)
	}
	if len(rs) == 0 || rs[0] != other {
		e.t.Fatalf("%s: Expose did not append: %+v", e.name, rs)
	}
	w, limits := window(rs[1:]), e.Info()
	for _, r := range w {
		if r.Base+r.Len < r.Base || r.STag == 0 || limits.MaxRegion > 0 && r.Len > uint64(limits.MaxRegion) {
			e.t.Fatalf("%s: Expose of %d bytes returned %+v", e.name, transport.TotalLen(list), r)
		}
	}
	if w.len() != transport.TotalLen(list) {
		e.t.Fatalf("%s: Expose of %d bytes returned regions of %d", e.name, transport.TotalLen(list), w.len())
	}
	e.mu.Lock()
	e.regions = append(e.regions, w...)
	e.mu.Unlock()
	return w
}

// receives posts n receives of size bytes.
func (e *end) receives(n, size int) {
	e.t.Helper()
	for range n {
		r := &transport.RecvRequest{Local: []transport.Slice{e.alloc(size)}}
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

// postEach posts requests one by one, all of them signaled, and waits for room in the queue.
func (e *end) postEach(wrs ...*transport.WorkRequest) (entries []*entry) {
	e.t.Helper()
	oldest := 0
	for _, wr := range wrs {
		wr.Flags |= transport.Signaled
		posted, err := e.ledger.post(e, wr)
		for errors.Is(err, transport.ErrQueueFull) && oldest < len(entries) {
			e.succeed(entries[oldest])
			oldest++
			posted, err = e.ledger.post(e, wr)
		}
		if err != nil {
			e.t.Fatalf("%s: Post: %v", e.name, err)
		}
		entries = append(entries, posted...)
	}
	return entries
}

// transfer carries out a Write or Read between list and byte off of w, and waits until it has
// succeeded.
func (e *end) transfer(op transport.Op, w window, off int, list ...transport.Slice) {
	e.t.Helper()
	e.succeed(e.postEach(e.requests(op, w, off, list...)...)...)
}

// succeed waits until requests have completed without error.
func (e *end) succeed(entries ...*entry) {
	e.t.Helper()
	for _, en := range entries {
		if err := e.completion(en); err != nil {
			e.t.Fatalf("%s: %v: %v", e.name, en, err)
		}
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
	wait(e.t, e.name+": completion of "+en.String()+e.advice, en.done)
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
			hang(e.t, e.name+": a message"+e.advice)
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

// release gives everything back after the connection has ended, and checks the accounts.
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
