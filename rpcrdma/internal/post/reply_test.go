package post

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// replyRig is a queue, and what became of its replies.
type replyRig struct {
	q  Queue
	ep *fakeEndpoint

	mu       sync.Mutex // guards what follows
	granted  []int      // replies by number, in the order of their grants
	unposted []string   // replies and why
}

func newReplyRig(depth int) *replyRig {
	r := &replyRig{ep: newFakeEndpoint(depth, nil)}
	r.q.Open(r.ep, nil)
	return r
}

// fakeReply is a reply of a Write and a Send. Its number is the Context of both.
type fakeReply struct {
	*replyRig
	number, bulk int
	refused      error // of Grant
}

func (r *fakeReply) Bulk() int { return r.bulk }

func (r *fakeReply) Grant() ([]*transport.WorkRequest, error) {
	if r.refused != nil {
		return nil, r.refused
	}
	r.mu.Lock()
	r.granted = append(r.granted, r.number)
	r.mu.Unlock()
	runtime.Gosched() // others might come between this and the Post
	return []*transport.WorkRequest{
		{Op: transport.OpWrite, Done: r, Context: r.number},
		{Op: transport.OpSend, Flags: transport.Signaled, Done: r, Context: r.number},
	}, nil
}

func (r *fakeReply) Unposted(err error) {
	r.unposted = append(r.unposted, fmt.Sprint(r.number, ": ", err))
}

func (r *fakeReply) Complete(wr *transport.WorkRequest, _ error) {
	r.q.Completed()
	if wr.Op == transport.OpSend && r.bulk > 0 {
		r.q.ReplySent(r.bulk)
	}
}

// reply posts a reply with bulk bytes of bulk data.
func (r *replyRig) reply(t *testing.T, number, bulk int) {
	t.Helper()
	if err := r.q.PostReply(&fakeReply{replyRig: r, number: number, bulk: bulk}); err != nil {
		t.Error(err)
	}
}

// want checks which replies were posted so far.
func (r *replyRig) want(t *testing.T, replies ...int) {
	t.Helper()
	var twice []int // a Write and a Send
	for _, n := range replies {
		twice = append(twice, n, n)
	}
	if diff := cmp.Diff(twice, numbers(r.ep.posted())); diff != "" {
		t.Errorf("posted (-want +got):\n%s", diff)
	}
}

// TestRepliesInOrderOfGrants: goroutines reply at the same time, while the endpoint is often full.
// Replies leave in the order of their grants, because a client uses the last grant that comes.
func TestRepliesInOrderOfGrants(t *testing.T) {
	const posters, each = 4, 1000
	r := newReplyRig(8)
	var replying, working sync.WaitGroup
	for id := range posters {
		replying.Go(func() {
			for i := range each {
				r.reply(t, id*each+i, i%3*(paceLeast/3))
			}
		})
	}
	stop := make(chan struct{})
	working.Go(func() {
		for again := true; again; {
			for r.ep.run() {
			}
			select {
			case <-stop:
				again = r.ep.run()
			default:
				runtime.Gosched()
			}
		}
	})
	hang.Wait(t, "those that reply", &replying)
	close(stop)
	hang.Wait(t, "the endpoint", &working)
	if n := len(r.granted); n != posters*each {
		t.Errorf("%d replies left, want %d", n, posters*each)
	}
	r.want(t, r.granted...)
}

// TestBulkRepliesWait: while much bulk data is under way, replies with more of it wait in order,
// and small ones overtake them.
func TestBulkRepliesWait(t *testing.T) {
	r := newReplyRig(100)
	complete := func(number int) {
		for r.ep.finish(func(wr *transport.WorkRequest) bool { return wr.Context == number }) {
		}
	}
	r.reply(t, 1, paceLeast/2)
	r.reply(t, 2, paceLeast/2) // as much as may be under way
	r.reply(t, 3, bulkFrom)
	r.reply(t, 4, 0)
	r.reply(t, 5, 2*paceLeast)
	r.want(t, 1, 2, 4)
	complete(4)
	r.want(t, 1, 2, 4)
	complete(1)
	r.reply(t, 6, bulkFrom) // for which there is room, but it is behind the last one
	r.want(t, 1, 2, 4, 3)
	complete(2)
	r.want(t, 1, 2, 4, 3)
	complete(3)
	r.want(t, 1, 2, 4, 3, 5) // alone, since it is more than may be under way
	complete(5)
	r.want(t, 1, 2, 4, 3, 5, 6)
	complete(6)
	r.reply(t, 7, paceLeast)
	r.want(t, 1, 2, 4, 3, 5, 6, 7)
}

// TestRepliesUnposted: those that wait at the end are told so, and others get the error.
func TestRepliesUnposted(t *testing.T) {
	r := newReplyRig(100)
	refused := errors.New("refused")
	refuses := &fakeReply{replyRig: r, number: 1, bulk: paceLeast, refused: refused}
	if err := r.q.PostReply(refuses); err != refused {
		t.Errorf("without a grant: %v, want %v", err, refused)
	}
	r.reply(t, 2, paceLeast)
	r.reply(t, 3, paceLeast)
	if err := r.q.PostReply(refuses); err != nil {
		t.Errorf("%v, though it waits", err)
	}
	r.reply(t, 4, paceLeast)
	flush := r.ep.end()
	r.q.Close()
	closed := r.ep.closed.Error()
	want := []string{"3: " + closed, "1: refused", "4: " + closed}
	if diff := cmp.Diff(want, r.unposted); diff != "" {
		t.Errorf("not posted (-want +got):\n%s", diff)
	}
	late := &fakeReply{replyRig: r, number: 5, bulk: paceLeast}
	if err := r.q.PostReply(late); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v, want net.ErrClosed", err)
	}
	flush()
	r.want(t, 2)
}
