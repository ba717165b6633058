package rpcrdma

import (
	"slices"

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
func (c *Conn) invalidate(ch *chain, regions []transport.Region, ended []transport.STag,
	done transport.Completer) (waits bool, err error) {
	ch.begins(len(regions), &c.info)
	for _, r := range regions {
		if !slices.Contains(ended, r.STag) {
			ch.addInvalidate(r.STag, done)
		}
	}
	if len(ch.wrs) == 0 {
		return false, nil
	}
	last := &ch.wrs[len(ch.wrs)-1]
	last.Flags, last.Context = transport.Signaled, nil
	return true, c.queue.post(ch.all())
}

// whenEnded waits in the background until the endpoint has ended and touches no memory any more.
// Then it revokes regions and calls giveBack.
func (c *Conn) whenEnded(regions []transport.Region, giveBack func()) {
	end := func() {
		c.ep.Revoke(regions...)
		giveBack()
	}
	c.mu.Lock()
	if !c.over {
		c.atEnd = append(c.atEnd, end)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	end()
}
