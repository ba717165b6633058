package iwarp

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// link is what the parts of an endpoint share: the connection below, the windows, the queues that
// lead from one part to another, and the end. What stands above mu never changes.
type link struct {
	info     transport.Info
	version  version
	draft05  bool // Terminate messages are in the draft's dialect
	llp      ddp.LLP
	table    *stag.Table
	counters *Counters
	cfg      *Config
	full     error         // what posting fails with while a queue is full, made once
	over     chan struct{} // closed by end

	offered atomic.Bool // memory to read from, since the last message of the peer's

	// mu guards what follows, and what the parts say it guards. It is never held while the upper
	// layer is called.
	mu        sync.Mutex
	idle      sync.Cond // of mu: a goroutine has ceased to send, or to deliver completions
	queues    queues
	handler   transport.MessageHandler // nil until Start
	heard     bool                     // the peer has sent something, or need not be waited for
	broken    error                    // why nothing can be sent any more
	err       error                    // why the connection has ended
	closed    error                    // the same, such that it wraps net.ErrClosed
	lastWords []byte                   // the Terminate message that is to end it
}

// Err says why the connection ended.
func (l *link) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// opError wraps err in what was being done here, and with whom.
func (l *link) opError(op string, err error) error {
	return opError(op, l.info.RemoteAddr, err)
}
