package rpcrdma

import (
	"slices"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Windows end in one of two ways.
//
// A caller in RoundTrip revokes those of its call (windows.revoke). That may block, on a
// goroutine of the caller's own. A work request would stand behind all that is queued to
// a slow peer, and on software providers Revoke waits for no network.
//
// Everything else runs on goroutines of the provider, or may: the end of an abandoned
// call, and of a reply that the peer has read. There OpInvalidate is posted, and what is
// behind the windows is given back when it completes. If it is flushed, that is when the
// endpoint has ended.

// invalidate posts the local invalidation of regions, but for those that have ended, with
// ch, which nothing else uses. It reports false if there is none to wait for, or an error
// if the connection has ended. Otherwise done is told of it, lastly with a Context of nil.
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

// whenEnded revokes regions when the endpoint has ended, so that no memory is touched any
// more, and then calls giveBack.
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
