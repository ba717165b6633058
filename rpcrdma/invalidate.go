package rpcrdma

import (
	"slices"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Windows end in one of two ways.
//
// A caller in RoundTrip revokes those of its call (Conn.revokeWindowsOf). That may block, on a
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
	if c.pending != nil {
		c.atEnd = append(c.atEnd, end)
		c.mu.Unlock()
		return
	}
	c.mu.Unlock()
	end()
}

// endWindows ends the windows of an abandoned call, and lets go of it then.
func (k *call) endWindows() {
	waits, err := k.c.invalidate(&k.chain, k.regions, k.ended, (*callEnded)(k))
	switch {
	case err != nil:
		k.c.fail(err)
		k.c.whenEnded(k.regions, k.letGo)
	case !waits:
		k.letGo()
	}
}

// callEnded is told that the windows of an abandoned call have ended.
type callEnded call

// Complete lets go of the call when the last of them has.
func (e *callEnded) Complete(wr *transport.WorkRequest, err error) {
	k := (*call)(e)
	k.c.queue.completed()
	switch {
	case wr.Context != nil:
	case err != nil:
		k.c.fail(err)
		k.c.whenEnded(k.regions, k.letGo)
	default:
		k.letGo()
	}
}

// letGo gives back what was behind the windows of an abandoned call.
func (k *call) letGo() {
	k.chain = k.chain.cleared()
	k.releaseWindows()
	if k.late {
		k.c.stats.lateReplies.Add(1)
	}
	k.unref()
}

// endWindows ends the windows of a reply, and gives the call back then. Until that has
// come to its turn the call waits for the peer.
func (in *incoming) endWindows() {
	c := in.c
	c.mu.Lock()
	c.stalls.remove(in)
	in.owes = false
	c.stalls.add(in)
	c.mu.Unlock()
	if _, err := c.invalidate(&in.chain, in.regions, nil, (*replyEnded)(in)); err != nil {
		c.fail(err)
		c.whenEnded(in.regions, in.giveBack)
	}
}

// replyEnded is told that the windows of a reply have ended.
type replyEnded incoming

// Complete gives the call back when the last of them has.
func (e *replyEnded) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(e)
	in.c.queue.completed()
	switch {
	case wr.Context != nil:
	case err != nil:
		in.c.fail(err)
		in.c.whenEnded(in.regions, in.giveBack)
	default:
		in.giveBack()
	}
}

// invalidated notes that a message has ended the window of tag, which may be that of
// another window soon: then it must not be invalidated for the old one. xid is that of
// the message. A peer should end windows of the call that it replies to, and no others.
func (c *Conn) invalidated(xid uint32, tag transport.STag) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.pending[xid]; k != nil && k.lost(tag) {
		return
	}
	for _, k := range c.pending {
		if k.lost(tag) {
			return
		}
	}
}

// lost notes that the peer has ended the window of tag if the call has it; Conn.mu is held.
func (k *call) lost(tag transport.STag) bool {
	same := func(r transport.Region) bool { return r.STag == tag }
	if !slices.ContainsFunc(k.regions, same) || slices.Contains(k.ended, tag) {
		return false
	}
	k.ended = append(k.ended, tag)
	return true
}
