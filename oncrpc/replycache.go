package oncrpc

import (
	"bytes"
	"hash/maphash"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// maxKeptResults is the length in bytes of the longest results that are kept: those of a reply of
// 4 KiB.
const maxKeptResults = 4<<10 - replyHeaderMin

// maxReplyAge is how long a reply counts. It is longer than clients take to connect again, and bounds what happens to one that
// uses its transaction ids again, having been started anew.
const maxReplyAge = 10 * time.Minute

// replyCache keeps the results of procedures that must be executed once, for clients that did not get them and call again: what
// is known as duplicate request cache. It belongs to a server, not to a connection, because they do so over another one. It is
// a ReplayPolicy.
type replyCache struct {
	seed maphash.Seed
	max  int // results

	mu          sync.Mutex // guards what follows, and the calls in it
	calls       map[replyKey]*cachedCall
	kept        int
	first, last *cachedCall // those with results, oldest first
}

// cachedCall is a call that is being executed, or its results: the State of an OnceCall.
type cachedCall struct {
	key     replyKey
	done    bool
	results []byte
	since   time.Time   // of the results
	waiter  *OnceCall   // the last one of the same key that has arrived meanwhile
	next    *cachedCall // completed after this one
}

// newReplyCache returns a cache of max results, or nil for none.
func newReplyCache(max int) ReplayPolicy {
	if max < 0 {
		return nil
	}
	return &replyCache{seed: maphash.MakeSeed(), max: max, calls: make(map[replyKey]*cachedCall)}
}

// Arrive enters a call. It is executed unless it is the copy of another, whose results answer it, now or when there are some.
//
// A client calls again when it has lost its connection, which the server may not know yet. So the latest of the calls that wait for
// one and the same results gets them, and those before it are dropped.
func (r *replyCache) Arrive(a *OnceCall) bool {
	k, ok := makeKey(r.seed, a.Call)
	if !ok {
		return true
	}
	r.mu.Lock()
	o := r.calls[k]
	if o == nil || o.done && time.Since(o.since) > maxReplyAge {
		o = &cachedCall{key: k}
		a.State, r.calls[k] = o, o
		r.mu.Unlock()
		return true
	}
	if o.done {
		r.mu.Unlock()
		a.Answer(o.results) // which do not change any more
		return false
	}
	var displaced *OnceCall
	displaced, o.waiter = o.waiter, a
	r.mu.Unlock()
	if displaced != nil {
		displaced.Drop()
	}
	return false
}

// Executed keeps the results of a call, if they can be kept, and answers the one that waits for them. That one cannot have bulk
// data, which is given back when it has been sent the first time.
func (r *replyCache) Executed(a *OnceCall, m *xdr.Message) {
	o, ok := a.State.(*cachedCall)
	if !ok {
		return
	}
	if len(m.Bulk) == 0 && len(m.Inline) <= maxKeptResults {
		results := bytes.Clone(m.Inline)
		if waiter := r.keep(o, results); waiter != nil {
			waiter.Answer(results)
		}
		return
	}
	r.mu.Lock()
	delete(r.calls, o.key)
	waiter := o.waiter
	o.waiter = nil
	r.mu.Unlock()
	switch {
	case waiter == nil:
	case len(m.Bulk) > 0:
		waiter.Drop()
	default:
		waiter.Answer(m.Inline)
	}
}

// Failed forgets a call that is answered with an error. That may be so because its connection has ended while
// arguments were fetched; thus the call that waits takes its place, and is executed itself.
func (r *replyCache) Failed(a *OnceCall) {
	o, ok := a.State.(*cachedCall)
	if !ok {
		return
	}
	r.mu.Lock()
	waiter := o.waiter
	o.waiter = nil
	if waiter == nil {
		delete(r.calls, o.key)
	} else {
		waiter.State = o
	}
	r.mu.Unlock()
	if waiter != nil {
		waiter.Execute()
	}
}

// keep keeps results, in place of the oldest one if there are too many.
func (r *replyCache) keep(o *cachedCall, results []byte) (waiter *OnceCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	waiter, o.waiter = o.waiter, nil
	o.done, o.results, o.since = true, results, time.Now()
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
