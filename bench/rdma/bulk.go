package rdma

import (
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// bulk is the client for RDMA Writes and Reads.
type bulk struct {
	*client
	op   transport.Op
	wrs  []*transport.WorkRequest
	done chan struct{} // all operations of a run are complete

	mu      sync.Mutex // guards what follows
	left    int        // operations not yet posted
	pending int        // operations posted
}

func newBulk(c *client, op transport.Op) *bulk {
	b := &bulk{client: c, op: op, done: make(chan struct{}, 1)}
	for range outstanding {
		wr := &transport.WorkRequest{
			Op:     op,
			Flags:  transport.Signaled,
			Remote: c.remote,
			Local:  []transport.Slice{c.bulk},
			Done:   b,
		}
		wr.Context = []*transport.WorkRequest{wr} // for Complete, which posts it again
		b.wrs = append(b.wrs, wr)
	}
	return b
}

// Run does n operations. For Writes, the server's answer to a final Send shows that it has the
// data. For Reads, their completion does.
func (b *bulk) Run(n int, _ []time.Duration) error {
	first := min(n, outstanding)
	b.mu.Lock()
	b.pending, b.left = first, n-first
	b.mu.Unlock()
	if err := b.ep.Post(b.wrs[:first]...); err != nil {
		return err
	}
	if err := b.wait(b.done); err != nil || b.op == transport.OpRead {
		return err
	}
	return b.exchange(1, 1, nil)
}

// Complete posts wr again until all operations are posted.
func (b *bulk) Complete(wr *transport.WorkRequest, err error) {
	if err != nil {
		b.fail(err)
		return
	}
	b.mu.Lock()
	again := b.left > 0
	if again {
		b.left--
	} else {
		b.pending--
	}
	over := b.pending == 0
	b.mu.Unlock()
	if again {
		if err := b.ep.Post(wr.Context.([]*transport.WorkRequest)...); err != nil {
			b.fail(err)
		}
	}
	if over {
		b.done <- struct{}{}
	}
}
