package oncrpc

import (
	"container/heap"
	"hash/maphash"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

const (
	// maxKeptResults is the length in bytes of the longest results that are kept: those of a reply
	// of 4 KiB.
	maxKeptResults = 4<<10 - replyHeaderMin
	// keptOverhead is the memory in bytes of kept results beside their own, about.
	keptOverhead = 256
	// maxReplyAge is how long a reply counts. It is longer than clients take to connect again, and
	// bounds what happens to one that uses its transaction ids again, having been started anew.
	maxReplyAge = 10 * time.Minute
	// sweepPause is how often replies are looked for that count no longer.
	sweepPause = time.Minute
)

// replyCache keeps the results of procedures that must be executed once, for clients that did not
// get them and call again: what is known as duplicate request cache. It belongs to a server, not to
// a connection, because they do so over another one. It is a ReplayPolicy.
//
// Its memory is for all hosts together. When it is full the host that has most of it loses its
// oldest results. So a host keeps what it has for maxReplyAge as long as that is no more than its
// share of the memory, whatever others do.
type replyCache struct {
	seed  maphash.Seed
	limit int64 // bytes

	mu    sync.Mutex // guards what follows, and the calls in it
	calls map[replyKey]*cachedCall
	bytes int64
	hosts map[peerhost.Host]*hostResults
	heap  mostResults // the same
	swept time.Time
}

// cachedCall is a call that is being executed, or its results: the State of an OnceCall.
type cachedCall struct {
	key     replyKey
	done    bool
	results []byte
	since   time.Time   // of the results
	waiting []*OnceCall // those of the same key that have arrived meanwhile
	next    *cachedCall // of the same host, completed after this one
}

func (o *cachedCall) size() int64 { return int64(len(o.results)) + keptOverhead }

// hostResults are the results that are kept for one host.
type hostResults struct {
	host        peerhost.Host
	first, last *cachedCall // oldest first
	bytes       int64
	place       int // in the heap
}

// newReplyCache returns a cache of so many bytes, or nil for none.
func newReplyCache(limit int64) ReplayPolicy {
	if limit < 0 {
		return nil
	}
	return &replyCache{
		seed: maphash.MakeSeed(), limit: limit,
		calls: make(map[replyKey]*cachedCall), hosts: make(map[peerhost.Host]*hostResults),
	}
}

// Arrive enters a call. It is executed unless it is the copy of another, whose results answer it,
// now or when there are some. A client calls again when it has lost its connection, which the
// server may not know yet; each of its calls is answered, as it may be on a connection that lives.
func (r *replyCache) Arrive(a *OnceCall) bool {
	k, ok := makeKey(r.seed, a.Call)
	if !ok {
		return true
	}
	r.mu.Lock()
	o := r.calls[k]
	switch {
	case o == nil, o.done && time.Since(o.since) > maxReplyAge:
		o = &cachedCall{key: k}
		a.State, r.calls[k] = o, o
		r.mu.Unlock()
		return true
	case o.done:
		r.mu.Unlock()
		a.Answer(o.results) // which do not change any more
	default:
		o.waiting = append(o.waiting, a)
		r.mu.Unlock()
	}
	return false
}

// Executed keeps the results of a call, if they are short enough, and answers those that wait for
// them.
func (r *replyCache) Executed(a *OnceCall, m *xdr.Message) {
	o, ok := a.State.(*cachedCall)
	if !ok {
		return
	}
	keep := m.Len() <= maxKeptResults
	var results []byte
	if keep {
		results = m.AppendTo(make([]byte, 0, m.Len()))
	}
	r.mu.Lock()
	waiting := o.waiting
	o.waiting = nil
	if keep {
		r.keep(o, results)
	} else {
		delete(r.calls, o.key)
	}
	r.mu.Unlock()
	if !keep && len(waiting) > 0 {
		results = m.AppendTo(make([]byte, 0, m.Len()))
	}
	for _, w := range waiting {
		w.Answer(results)
	}
}

// Failed forgets a call that is answered with an error. That may be so because its connection has
// ended while arguments were fetched. Thus the call that waits and came last takes its place, and
// is executed itself.
func (r *replyCache) Failed(a *OnceCall) {
	o, ok := a.State.(*cachedCall)
	if !ok {
		return
	}
	r.mu.Lock()
	last := len(o.waiting) - 1
	if last < 0 {
		delete(r.calls, o.key)
		r.mu.Unlock()
		return
	}
	w := o.waiting[last]
	o.waiting[last] = nil
	o.waiting = o.waiting[:last]
	w.State = o
	r.mu.Unlock()
	w.Execute()
}

// keep keeps results, in place of others if there are too many; r.mu is held.
func (r *replyCache) keep(o *cachedCall, results []byte) {
	now := time.Now()
	o.done, o.results, o.since = true, results, now
	h := r.hosts[o.key.host]
	if h == nil {
		h = &hostResults{host: o.key.host}
		r.hosts[h.host] = h
		heap.Push(&r.heap, h)
	}
	if h.last == nil {
		h.first = o
	} else {
		h.last.next = o
	}
	h.last = o
	r.count(h, o.size())
	if now.Sub(r.swept) > sweepPause {
		r.sweep(now)
	}
	for r.bytes > r.limit && len(r.heap) > 0 {
		r.dropOldest(r.heap[0])
	}
}

// sweep drops what counts no longer.
func (r *replyCache) sweep(now time.Time) {
	r.swept = now
	for _, h := range r.hosts {
		for h.first != nil && now.Sub(h.first.since) > maxReplyAge {
			r.dropOldest(h)
		}
	}
}

// dropOldest drops the oldest results of a host, which has some.
func (r *replyCache) dropOldest(h *hostResults) {
	o := h.first
	if r.calls[o.key] == o { // and not a later call of the same key
		delete(r.calls, o.key)
	}
	h.first = o.next
	if h.first != nil {
		r.count(h, -o.size())
		return
	}
	r.bytes -= o.size()
	delete(r.hosts, h.host)
	heap.Remove(&r.heap, h.place)
}

// count notes that a host has n bytes more.
func (r *replyCache) count(h *hostResults, n int64) {
	r.bytes += n
	h.bytes += n
	heap.Fix(&r.heap, h.place)
}

// mostResults is a heap, with the host that has most results first.
type mostResults []*hostResults

func (m mostResults) Len() int           { return len(m) }
func (m mostResults) Less(i, j int) bool { return m[i].bytes > m[j].bytes }

func (m mostResults) Swap(i, j int) {
	m[i], m[j] = m[j], m[i]
	m[i].place, m[j].place = i, j
}

// Push is for package heap.
func (m *mostResults) Push(x any) {
	h := x.(*hostResults)
	h.place = len(*m)
	*m = append(*m, h)
}

// Pop is for package heap.
func (m *mostResults) Pop() any {
	last := len(*m) - 1
	h := (*m)[last]
	(*m)[last] = nil
	*m = (*m)[:last]
	return h
}
