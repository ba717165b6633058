package transporttest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// message is a message that has arrived.
type message struct {
	transport.Message
	data []byte
}

// inbox is the MessageHandler of an end. It checks that messages fill the receives in order, and
// that calls do not overlap.
type inbox struct {
	hook    func(m message) // called within Received where not nil; set before Start
	calls   atomic.Int32    // of Received under way
	arrived chan struct{}   // capacity 1: the queue has grown

	posting sync.Mutex // held over PostRecv, so that receives have the order of their numbers

	mu       sync.Mutex // guards the fields below
	queue    []message
	posted   int // receives
	filled   int // receives
	problems []string
}

// post posts receives to ep.
func (in *inbox) post(ep transport.Endpoint, rs ...*transport.RecvRequest) error {
	in.posting.Lock()
	defer in.posting.Unlock()
	in.mu.Lock()
	first := in.posted
	for i, r := range rs {
		r.Context = first + i
	}
	in.posted += len(rs) // ahead of time: one may be filled before PostRecv returns
	in.mu.Unlock()
	err := ep.PostRecv(rs...)
	if err != nil {
		in.mu.Lock()
		in.posted = first
		in.mu.Unlock()
	}
	return err
}

// Received implements transport.MessageHandler.
func (in *inbox) Received(batch []transport.Message) {
	if in.calls.Add(1) != 1 {
		in.problem("calls of Received overlap")
	}
	defer in.calls.Add(-1)
	if len(batch) == 0 {
		in.problem("an empty batch")
	}
	for _, m := range batch {
		in.received(m)
	}
}

func (in *inbox) received(m transport.Message) {
	number, ok := m.Receive.Context.(int)
	if !ok || m.Len > transport.TotalLen(m.Receive.Local) {
		in.problem("an impossible message: %+v", m)
		return
	}
	msg := message{m, flatten(m.Receive.Local)[:m.Len]}
	in.mu.Lock()
	if number != in.filled {
		in.problems = append(in.problems, fmt.Sprintf("receive %d was filled, want %d", number, in.filled))
	}
	in.filled++
	in.mu.Unlock()
	if in.hook != nil {
		in.hook(msg)
		return
	}
	in.mu.Lock()
	in.queue = append(in.queue, msg)
	in.mu.Unlock()
	select {
	case in.arrived <- struct{}{}:
	default:
	}
}

// take returns the oldest message in the queue.
func (in *inbox) take() (m message, ok bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if len(in.queue) == 0 {
		return m, false
	}
	m = in.queue[0]
	in.queue = in.queue[1:]
	return m, true
}

func (in *inbox) problem(format string, args ...any) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.problems = append(in.problems, fmt.Sprintf(format, args...))
}

// close reports the errors that were found.
func (in *inbox) close(t *testing.T, name string) {
	t.Helper()
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, p := range in.problems {
		t.Errorf("%s: %s", name, p)
	}
	for _, m := range in.queue {
		t.Errorf("%s: an unexpected message of %d bytes", name, m.Len)
	}
}
