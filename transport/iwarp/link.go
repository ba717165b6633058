package iwarp

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// link is what the parts of an endpoint share: the connection below, the queues between the parts,
// and the end.
//
// In the link and in the parts, the fields that each message touches come first, side by side. With
// many connections they are in no cache nearby, and come by lines of 64 bytes
// (docs/performance-history.md, Growth).
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

	version version     // of DDP and RDMAP; a constant
	offered atomic.Bool // a window to read was exposed since the peer's last message; not guarded
	queues  queues

	lastWords []byte    // the Terminate message that will end the connection
	idle      sync.Cond // of mu: a goroutine no longer sends, or no longer delivers completions

	read atomic.Uint64 // payload bytes of responses to our RDMA Reads; not guarded

	*constants
}

// constants never change once the endpoint has a peer.
type constants struct {
	stag.Windows
	info     transport.Info
	draft05  bool // Terminate messages are in the draft's dialect
	counters *Counters
	cfg      *Config
	full     error         // error of posting while a queue is full, made once
	over     chan struct{} // closed by end
}

// awaitIdle waits until a goroutine no longer sends, or no longer delivers completions; l.mu is
// held.
func (l *link) awaitIdle() {
	l.waiting++
	l.idle.Wait()
	l.waiting--
}

// ceased wakes up those in awaitIdle; l.mu is held.
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

// opError adds the operation and the peer to err.
//
// It is not inlined: callers would have room for it in their stack frames.
//
//go:noinline
func (l *link) opError(op string, err error) error {
	return opError(op, l.info.RemoteAddr, err)
}
