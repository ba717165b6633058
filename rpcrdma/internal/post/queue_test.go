package post

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// These tests are inside the package for the queue before a full endpoint, with chains that no call
// makes and completions one by one.

// sendLog completes requests, whose Context is their number, and informs the queue as completers
// do.
type sendLog struct {
	q *Queue

	mu   sync.Mutex // guards what follows
	done []int
	errs map[int]error
}

func (l *sendLog) Complete(wr *transport.WorkRequest, err error) {
	l.mu.Lock()
	n := wr.Context.(int)
	if _, twice := l.errs[n]; twice {
		panic(fmt.Sprintf("request %d completes twice", n))
	}
	l.done = append(l.done, n)
	l.errs[n] = err
	l.mu.Unlock()
	l.q.Completed()
}

func (l *sendLog) completed() []int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.done)
}

// newQueue returns a queue for an endpoint, and a function that makes chains of n numbered
// requests. The last one of each chain is signaled.
func newQueue(depth int) (*Queue, *fakeEndpoint, *sendLog, func(n int) []*transport.WorkRequest) {
	ep := newFakeEndpoint(depth, nil)
	q := new(Queue)
	q.Open(ep, nil)
	log := &sendLog{q: q, errs: make(map[int]error)}
	next := 0
	return q, ep, log, func(n int) (chain []*transport.WorkRequest) {
		for range n {
			chain = append(chain, &transport.WorkRequest{Op: transport.OpWrite, Done: log, Context: next})
			next++
		}
		last := chain[n-1]
		last.Op, last.Flags = transport.OpSend, transport.Signaled
		return chain
	}
}

func numbers(wrs []*transport.WorkRequest) (n []int) {
	for _, wr := range wrs {
		n = append(n, wr.Context.(int))
	}
	return n
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// A completion that comes right after the endpoint was found full, and is the last, must find
// that something waits.
func TestQueueLastCompletion(t *testing.T) {
	q, ep, _, chain := newQueue(2)
	var queued int32
	ep.full = func() { queued = q.queued.Load() }
	q.Post(chain(2))
	q.Post(chain(1))
	if queued == 0 {
		t.Error("nothing is known to wait when the endpoint is found full")
	}
	for ep.run() {
	}
	if n := len(ep.posted()); n != 3 {
		t.Errorf("%d posted, want 3", n)
	}
}

// TestQueueOrder: there is room again, but the queue has not noticed. What is posted then does not
// overtake what waits.
func TestQueueOrder(t *testing.T) {
	q, ep, _, chain := newQueue(1)
	q.Post(chain(1))
	q.Post(chain(1))
	ep.queue = nil
	q.Post(chain(1))
	if diff := cmp.Diff(upTo(2), numbers(ep.posted())); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
}

func TestQueueEnd(t *testing.T) {
	q, ep, log, chain := newQueue(4)
	q.Post(chain(3))
	q.Post(chain(3)) // 3 is posted; 4 and 5 wait
	flush := ep.end()
	if err := q.Post(chain(2)); err != nil { // 6 and 7 wait after them
		t.Fatal(err)
	}
	q.Completed() // more room no longer matters
	if done := log.completed(); len(done) > 0 {
		t.Errorf("%v completed before the endpoint was done", done)
	}
	flush()
	if diff := cmp.Diff(upTo(4), log.completed()); diff != "" {
		t.Errorf("completed by the endpoint (-want +got):\n%s", diff)
	}
	q.Close()
	if diff := cmp.Diff(upTo(8), log.completed()); diff != "" {
		t.Errorf("completed (-want +got):\n%s", diff)
	}
	for n, err := range log.errs {
		if !errors.Is(err, transport.ErrFlushed) {
			t.Errorf("request %d: error %v, want ErrFlushed", n, err)
		}
	}
	if err := q.Post(chain(2)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("posted after the end: error %v, want net.ErrClosed", err)
	}
}

// Whatever the chains and the depth, all is posted in order, and the last of each chain completes.
func TestQueueProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, ep, log, chain := newQueue(rapid.IntRange(1, 12).Draw(t, "depth"))
		total := 0
		var ends []int
		steps := rapid.SliceOfN(rapid.IntRange(-5, 30), 0, 20).Draw(t, "chains, and requests run")
		for _, n := range steps {
			if n <= 0 {
				for range -n {
					ep.run()
				}
				continue
			}
			if err := q.Post(chain(n)); err != nil {
				t.Fatal(err)
			}
			total += n
			ends = append(ends, total-1)
		}
		for ep.run() {
		}
		if diff := cmp.Diff(upTo(total), numbers(ep.posted())); diff != "" {
			t.Fatalf("posted (-want +got):\n%s", diff)
		}
		done := log.completed()
		if !slices.IsSorted(done) {
			t.Fatalf("completed out of order: %v", done)
		}
		for _, n := range ends {
			if !slices.Contains(done, n) {
				t.Fatalf("request %d, the last of its chain, did not complete", n)
			}
		}
		if total <= ep.depth && len(done) > len(ends) {
			t.Fatalf("completed %v, though nothing waited and chains ended with %v", done, ends)
		}
	})
}
