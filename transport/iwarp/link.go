package iwarp

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// link is what the parts of an endpoint share: the connection below, the queues that lead from one
// part to another, and the end.
//
// In the link as in the parts what each message touches comes first, side by side: over many
// connections it is in no cache nearby, and comes by lines of 64 bytes (docs/performance.md,
// Growth).
type link struct {
	llp ddp.LLP

	// mu guards what follows, and what the parts say it guards. It is never held while the upper
	// layer is called.
	mu      sync.Mutex
	err     error                    // why the connection has ended
	broken  error                    // why nothing can be sent any more
	handler transport.MessageHandler // nil until Start
	waiting int32                    // goroutines that wait for idle
	heard   bool                     // the peer has sent something, or need not be waited for

	version version     // of DDP and RDMAP; never changes
	offered atomic.Bool // memory to read from, since the last message of the peer's; not guarded
	queues  queues

	closed    error     // err, such that it wraps net.ErrClosed
	lastWords []byte    // the Terminate message that is to end the connection
	idle      sync.Cond // of mu: a goroutine has ceased to send, or to deliver completions

	read atomic.Uint64 // bytes that RDMA Reads of ours have brought; not guarded

	*constants
}

// constants never change.
type constants struct {
	info     transport.Info
	draft05  bool // Terminate messages are in the draft's dialect
	table    *stag.Table
	counters *Counters
	cfg      *Config
	full     error         // what posting fails with while a queue is full, made once
	over     chan struct{} // closed by end
}

// awaitIdle waits until a goroutine ceases to send, or to deliver completions; l.mu is held.
func (l *link) awaitIdle() {
	l.waiting++
	l.idle.Wait()
	l.waiting--
}

// ceased tells those that wait for it; l.mu is held.
func (l *link) ceased() {
	if l.waiting > 0 {
		l.idle.Broadcast()
	}
}

// Err says why the connection ended.
func (l *link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// opError wraps err in what was being done here, and with whom.
//
// It is not inlined because of the room that its callers would have in their frames for it.
//
//go:noinline
func (l *link) opError(op string, err error) error {
	return opError(op, l.info.RemoteAddr, err)
}
