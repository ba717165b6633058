package rpcrdma

import (
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/post"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Windows end in one of two ways.
//
// RoundTrip revokes the windows of its call (windows.revoke). That may block, but on the caller's
// own goroutine. A work request would wait behind everything that is queued for a slow peer, while
// Revoke of software providers does not wait for the network.
//
// Everything else may run on goroutines of the provider: the end of an abandoned call, and of a
// reply that the peer has read. There OpInvalidate is posted. The memory is given back when it
// completes, or, if it is flushed, when the endpoint has ended.

// invalidate posts local invalidations of regions, except for the tags in ended. It uses ch, which
// nothing else may use. done completes the last of them, with a Context of nil. invalidate reports
// false if there is nothing to wait for, and fails if the connection has ended.
func (l *link) invalidate(ch *post.Chain, regions []transport.Region, ended []transport.STag,
	done transport.Completer) (waits bool, err error) {
	ch.Begin(len(regions), &l.info)
	if !ch.AddInvalidates(regions, ended, done) {
		return false, nil
	}
	return true, l.queue.Post(ch.All())
}

// whenEnded revokes regions and calls giveBack when the endpoint has ended and touches no memory
// any more: now, or from Conn.watch.
func (l *link) whenEnded(regions []transport.Region, giveBack func()) {
	end := func() {
		l.ep.Revoke(regions...)
		giveBack()
	}
	l.mu.Lock()
	over := l.over
	if !over {
		l.atEnd = append(l.atEnd, end)
	}
	l.mu.Unlock()
	if over {
		end()
	}
}
