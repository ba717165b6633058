package rpcrdma

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/internal/stats"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/post"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// link is what the parts of a connection share. It knows none of them.
//
// Its mutex, Conn.mu, guards the account of the connection:
//
//	link        why and whether it ends, what was granted to the peer, the posted receives
//	caller      the calls that await their reply, and which grant is in force
//	responder   the server, and what the peer's calls wait for the peer to do
//	draft       replies that the peer reads, and messages that may be replies
//
// These hold whenever it is free:
//
//   - Each call that the peer may still send, and each RDMA_DONE that it owes, has a posted receive
//     (credits.Granter).
//   - Each pending call has one more posted receive, or its reply has used that up.
//   - A call of the peer counts in the granter from its arrival until its reply gets a grant or it
//     is dropped, and keeps its receive until it ends. It ends once. A message that may be a reply
//     does not count (draftambiguous.go).
//   - A connection with pending calls, or with messages in hand, has memory for all that its peer
//     may send (memory.Receives).
//   - A withheld reply has one before it that is pinned, or whose RDMA_DONE is to come.
//
// Nothing that is called with the mutex held waits, calls a Completer or runs a handler. See
// ARCHITECTURE.md for the order of locks.
//
// The fields that every call touches come first, here and in the parts, to need few cache lines
// (docs/performance-history.md, Growth).
type link struct {
	mu       sync.Mutex
	err      error // why the connection ends; mu guards it, over, granter, receives and atEnd
	over     bool  // the endpoint has ended
	granter  credits.Granter
	receives memory.Receives

	shared   *shared
	settings atomic.Pointer[Settings]
	cfg      *Config // shared by connections, and never changed
	importer transport.Importer
	ctx      context.Context
	peer     wire.Private
	queue    post.Queue
	stats    Stats
	traffic  Traffic

	ep        transport.Endpoint
	info      transport.Info
	invalid   transport.Access // RemoteInvalidate, if we told the peer that it may; otherwise 0
	abandoner transport.Abandoner
	gate      post.ReadGate
	cancel    context.CancelFunc
	done      chan struct{} // closed when watch has ended everything
	atEnd     []func()      // called when the endpoint has ended
}

// open makes the link of an endpoint that is being prepared. It fails with ErrProviderLimits.
func (l *link) open(ep transport.Endpoint, cfg *Config, s *shared) error {
	l.ep, l.info, l.cfg, l.shared, l.done = ep, ep.Info(), cfg, s, make(chan struct{})
	if err := cfg.check(&l.info); err != nil {
		return err
	}
	// Replies and calls, and in the Draft RDMA_DONEs, share the receive queue in equal parts.
	n := l.info.RecvDepth / 2
	if cfg.Dialect == Draft {
		n = (l.info.RecvDepth - 2) / 3 // a grant may be larger by two (credits.Granter)
	}
	if n = max(1, n); cfg.Credits > n {
		fewer := *cfg
		fewer.Credits = n
		l.cfg = &fewer
	}
	if l.info.RemoteInvalidate && !cfg.NoRemoteInvalidate && !cfg.NoPrivateData {
		l.invalid = transport.RemoteInvalidate
	}
	l.granter = credits.NewGranter(l.cfg.Credits)
	l.importer, _ = ep.Domain().(transport.Importer)
	l.abandoner, _ = transport.As[transport.Abandoner](ep)
	l.queue.Open(ep, l.fail)
	l.gate.Open(&l.queue)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return nil
}

// isDraft reports whether the connection follows the draft's dialect.
func (l *link) isDraft() bool { return l.cfg.Dialect == Draft }

// Stats returns the connection's counters.
func (l *link) Stats() Stats { return stats.Load(&l.stats) }

// Traffic returns the byte counts of the connection.
func (l *link) Traffic() Traffic { return stats.Load(&l.traffic) }

// fail ends the connection because of err. It does not record an err that only follows from the
// end.
func (l *link) fail(err error) {
	l.mu.Lock()
	if l.err == nil && !errors.Is(err, net.ErrClosed) && !errors.Is(err, transport.ErrFlushed) {
		l.err = l.endError(err)
	}
	l.mu.Unlock()
	l.ep.Close()
}

// reason returns why the endpoint ended, and counts it if the peer exceeded its credits; mu is
// held.
func (l *link) reason() error {
	err := l.ep.Err()
	if errors.Is(err, transport.ErrNoReceive) && !errors.Is(err, transport.ErrTerminated) {
		atomic.AddUint64(&l.stats.Exceeded, 1)
		err = fmt.Errorf("%w: %w", ErrCreditsExceeded, err)
	}
	return err
}

// endError wraps the reason for an end so that it always wraps net.ErrClosed.
func (l *link) endError(err error) error {
	if !errors.Is(err, net.ErrClosed) {
		err = fmt.Errorf("%w: %w", net.ErrClosed, err)
	}
	return &OpError{"connection to", l.info.RemoteAddr, err}
}

// fault counts and logs a fault of the peer.
func (l *link) fault(count *uint64, what string, xid uint32, err error) {
	atomic.AddUint64(count, 1)
	l.cfg.faults.Fault(l.info.RemoteAddr, "rpcrdma: "+what, nil, "xid", xid, "err", err)
}

// logLoss logs that the connection did not end in order.
func (l *link) logLoss(err error) {
	reason := faultlog.OneOf(err, ErrCreditsExceeded, ErrStalled, transport.ErrTerminated)
	l.cfg.faults.Fault(l.info.RemoteAddr, "rpcrdma: connection lost", reason, "err", err)
}
