package oncrpc

import (
	"bytes"
	"hash/maphash"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// maxKeptReply is the longest reply in bytes that is kept.
const maxKeptReply = 4 << 10

// maxReplyAge is how long a reply counts. It is longer than clients take to connect again, and bounds what happens to one that
// uses its transaction ids again, having been started anew.
const maxReplyAge = 10 * time.Minute

// replyCache keeps the replies of procedures that must be executed once, for clients that did not get them and call again: what
// is known as duplicate request cache. It belongs to a server, not to a connection, because they do so over another one.
type replyCache struct {
	seed maphash.Seed
	max  int // replies

	mu          sync.Mutex // guards what follows, and the calls in it
	calls       map[replyKey]*onceCall
	kept        int
	first, last *onceCall // those with a reply, oldest first
}

// onceCall is a call that is being executed, or its reply.
type onceCall struct {
	key    replyKey
	reply  []byte    // nil until there is one; then it never changes, for it may be on its way
	since  time.Time // of the reply
	waiter *Call     // the last one of the same key that has arrived meanwhile
	next   *onceCall // completed after this one
}

// newReplyCache returns a cache of max replies, or nil for none.
func newReplyCache(max int) *replyCache {
	if max < 0 {
		return nil
	}
	return &replyCache{seed: maphash.MakeSeed(), max: max, calls: make(map[replyKey]*onceCall)}
}

// arrive enters a call. It returns true if c shall be executed. Otherwise c is answered with reply, or without one waits for
// that of an earlier call, and takes the place of one that did so.
func (r *replyCache) arrive(c *Call) (execute bool, reply []byte, displaced *Call) {
	k, ok := makeKey(r.seed, c)
	if !ok {
		return true, nil, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	o := r.calls[k]
	switch {
	case o == nil, o.reply != nil && time.Since(o.since) > maxReplyAge:
		c.once = &onceCall{key: k}
		r.calls[k] = c.once
		return true, nil, nil
	case o.reply != nil:
		return false, o.reply, nil
	}
	displaced, o.waiter = o.waiter, c
	return false, nil, displaced
}

// complete keeps the reply of an executed call, if it can be kept. The call that waits for it, if any, is answered with reply, or without
// one cannot be.
func (r *replyCache) complete(o *onceCall, m *xdr.Message) (waiter *Call, reply []byte) {
	if len(m.Bulk) == 0 && len(m.Inline) <= maxKeptReply {
		reply = bytes.Clone(m.Inline)
		return r.keep(o, reply), reply
	}
	r.mu.Lock()
	delete(r.calls, o.key)
	waiter, o.waiter = o.waiter, nil
	r.mu.Unlock()
	if waiter != nil && len(m.Bulk) == 0 {
		reply = bytes.Clone(m.Inline)
	}
	return waiter, reply
}

// keep keeps a reply, in place of the oldest one if there are too many.
func (r *replyCache) keep(o *onceCall, reply []byte) (waiter *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiter, o.waiter = o.waiter, nil
	o.reply, o.since = reply, time.Now()
	if r.last == nil {
		r.first = o
	} else {
		r.last.next = o
	}
	r.last = o
	if r.kept++; r.kept > r.max {
		if r.calls[r.first.key] == r.first { // and not a later call of the same key
			delete(r.calls, r.first.key)
		}
		r.first = r.first.next
		r.kept--
	}
	return waiter
}

// fail forgets a call that was not executed. The one that waited for its reply takes its place, and shall be executed.
func (r *replyCache) fail(o *onceCall) (waiter *Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiter, o.waiter = o.waiter, nil
	if waiter == nil {
		delete(r.calls, o.key)
	} else {
		waiter.once = o
	}
	return waiter
}
