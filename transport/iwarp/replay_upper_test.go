package iwarp_test

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// replayUpper is the upper layer of our endpoint. It posts what the captured one posted, and checks
// what arrives.
type replayUpper struct {
	t       *testing.T
	s       *replaySession
	lenient bool // wrong data may arrive undetected
	ep      transport.Endpoint
	expect  []*capturedMessage // the peer's Sends
	memory  [][]byte           // of the windows
	regions []transport.Region // of the windows

	mu        sync.Mutex // guards what follows
	posted    int        // steps
	completed int
	flushed   int
	received  int
	reads     int
	placed    int // FPDUs of the peer whose payload was found in its place
	ended     bool
	sinks     [][]byte // of the RDMA Reads, in the order of the steps

	finished chan struct{} // closed when there is nothing left to do
}

// newReplayUpper exposes the windows and posts the receives that the first limit bytes of the
// peer's stream need.
func newReplayUpper(t *testing.T, s *replaySession, ep transport.Endpoint, limit int) *replayUpper {
	t.Helper()
	u := &replayUpper{t: t, s: s, ep: ep, finished: make(chan struct{})}
	for i := range s.windows {
		w := &s.windows[i]
		if w.from >= limit {
			break
		}
		memory := bytes.Clone(w.initial)
		r := transporttest.Expose(t, ep, scatter(memory), w.access)
		u.memory, u.regions = append(u.memory, memory), append(u.regions, r)
	}
	u.expect = s.peer.sends()
	const room = 512
	memory := make([]byte, len(u.expect)*room)
	for _, m := range u.expect {
		if m.start >= limit {
			break
		}
		r := &transport.RecvRequest{Local: scatter(memory[:room])}
		memory = memory[room:]
		if err := ep.PostRecv(r); err != nil {
			t.Fatal(err)
		}
	}
	return u
}

// pairs returns the captured windows and ours.
func (u *replayUpper) pairs() (pairs []replayPair) {
	for i, r := range u.regions {
		w := &u.s.windows[i]
		pairs = append(pairs, replayPair{
			captured: transport.Remote{STag: w.tag, Offset: w.base},
			ours:     transport.Remote{STag: r.STag, Offset: r.Base},
		})
	}
	return pairs
}

// start posts the first steps, and takes what arrives.
func (u *replayUpper) start() {
	u.mu.Lock()
	u.advance()
	u.mu.Unlock()
	u.ep.Start(u)
}

// Received checks messages, and the Writes before them, and posts what follows from them.
func (u *replayUpper) Received(batch []transport.Message) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, m := range batch {
		if u.received == len(u.expect) {
			u.t.Errorf("a message of %d bytes too many", m.Len)
			return
		}
		if !u.lenient {
			u.check(m)
		}
		u.received++
		u.advance()
	}
}

// check compares a message with the captured one, and looks for the data that was written before
// it.
func (u *replayUpper) check(m transport.Message) {
	want := u.expect[u.received]
	var got []byte
	for _, l := range m.Receive.Local {
		got = append(got, l.Bytes...)
	}
	if got = got[:m.Len]; !bytes.Equal(got, want.payload) {
		u.t.Errorf("Send %d: got % x, want % x", u.received, got, want.payload)
	}
	if m.Solicited || m.HasInvalidate != want.op.Invalidates() {
		u.t.Errorf("Send %d: got %+v, want that of a %v", u.received, m, want.op)
	}
	if m.HasInvalidate {
		if tag := u.ourTag(transport.STag(want.header.ULP)); m.Invalidated != tag {
			u.t.Errorf("Send %d: invalidated %#x, want %#x", u.received, m.Invalidated, tag)
		}
	}
	for ; u.s.peer.fpdus[u.placed].end <= want.start; u.placed++ {
		f := &u.s.peer.fpdus[u.placed]
		if f.op != rdmap.OpWrite || !u.s.initiator {
			continue
		}
		for i := range u.regions {
			if w := &u.s.windows[i]; w.tag == f.header.STag {
				off := f.header.Offset - w.base
				if got := u.memory[i][off:][:len(f.payload)]; !bytes.Equal(got, f.payload) {
					u.t.Errorf("Send %d: the data written ahead of it, FPDU %d, is not there", u.received, u.placed)
				}
			}
		}
	}
}

// ourTag returns our steering tag for a captured one.
func (u *replayUpper) ourTag(captured transport.STag) transport.STag {
	for i := range u.regions {
		if u.s.windows[i].tag == captured {
			return u.regions[i].STag
		}
	}
	return 0
}

// Complete takes a completion. All requests are signaled.
func (u *replayUpper) Complete(wr *transport.WorkRequest, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if got := wr.Context.(int); got != u.completed {
		u.t.Errorf("step %d completed, want step %d", got, u.completed)
	}
	u.completed++
	switch {
	case errors.Is(err, transport.ErrFlushed):
		u.flushed++
	case err != nil:
		u.t.Errorf("step %d: %v", u.completed-1, err)
	case wr.Op == transport.OpRead:
		if got := u.sinks[u.reads]; !u.lenient && !bytes.Equal(got, u.s.steps[u.completed-1].response.payload) {
			u.t.Errorf("RDMA Read %d: got other data than captured", u.reads)
		}
		u.reads++
	}
	u.advance()
}

// advance posts the steps that are due; u.mu is held.
func (u *replayUpper) advance() {
	for !u.ended && u.posted < len(u.s.steps) {
		step := &u.s.steps[u.posted]
		if u.received < step.sends || u.reads < step.reads {
			break
		}
		if err := u.ep.Post(u.request(step)); err != nil {
			u.ended = true
			if !u.lenient && !errors.Is(err, net.ErrClosed) {
				u.t.Errorf("step %d: %v", u.posted, err)
			}
			return
		}
		u.posted++
	}
	if u.completed == len(u.s.steps) && u.received == len(u.expect) {
		select {
		case <-u.finished:
		default:
			close(u.finished)
		}
	}
}

// request returns the work request for a captured message.
func (u *replayUpper) request(step *replayStep) *transport.WorkRequest {
	m := step.message
	wr := &transport.WorkRequest{
		Flags: transport.Signaled, Local: scatter(m.payload), Done: u, Context: u.posted,
		Remote: transport.Remote{STag: m.header.STag, Offset: m.header.Offset},
	}
	switch m.op {
	case rdmap.OpWrite:
		wr.Op = transport.OpWrite
	case rdmap.OpReadRequest:
		r := mustReadRequest(u.t, m.payload)
		sink := bytes.Clone(step.initial)
		u.sinks = append(u.sinks, sink)
		wr.Op, wr.Local = transport.OpRead, scatter(sink)
		wr.Remote = transport.Remote{STag: r.SourceSTag, Offset: r.SourceOffset}
	case rdmap.OpSend:
		wr.Op = transport.OpSend
	case rdmap.OpSendInvalidate:
		wr.Op, wr.Invalidate = transport.OpSendInvalidate, transport.STag(m.header.ULP)
	default:
		u.t.Errorf("a %v in the capture", m.op)
	}
	return wr
}
