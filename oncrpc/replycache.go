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
	// maxKeptResults is the length in bytes of the longest kept results: those of a reply of 4 KiB.
	maxKeptResults = 4<<10 - replyHeaderMin
	// usualResults is the room in bytes that each cachedCall has for results from the start. It
	// suffices for a WRITE of NFS.
	usualResults = 144
	// callsAtOnce is the number of cachedCalls that are allocated together.
	callsAtOnce = 128
	// keptOverhead is the approximate memory in bytes of kept results, not counting the results.
	keptOverhead = 256
	// maxReplyAge is how long a reply is valid. It is longer than clients take to reconnect. It
	// also limits how long a restarted client that reuses its transaction ids can get old replies.
	maxReplyAge = 10 * time.Minute
	// sweepPause is the time between searches for expired replies.
	sweepPause = time.Minute
)

// replyCache is a duplicate request cache, and a ReplayPolicy. It keeps the results of procedures
// marked Once for clients that did not get them and repeat the call. It belongs to the server, not
// to a connection, because clients repeat calls over new connections.
//
// All hosts share its memory. When it is full, the host that uses the most loses its oldest
// results, of the procedure that uses the most. So a host that uses no more than its share keeps
// its results for maxReplyAge, whatever others do. And a host's many WRITEs do not displace the
// result of its REMOVE.
type replyCache struct {
	seed  maphash.Seed
	limit int64 // bytes

	mu    sync.Mutex // guards the fields below, and the cachedCalls in them
	calls map[replyKey]*cachedCall
	bytes int64
	bare  bool // a call was executed whose handler did not fetch its bulk data
	hosts map[peerhost.Host]*hostResults
	heap  mostResults // the same hosts
	swept time.Time   // last search for expired replies
	free  *cachedCall // unused
}

// cachedCall is a pending call or the results of an executed one. It is the State of an OnceCall.
type cachedCall struct {
	key     replyKey // without bulk data until that has been fetched
	entered bool     // it is in replyCache.calls
	done    bool
	results []byte
	since   time.Time   // when the results were kept
	waiting []*OnceCall // copies that arrived meanwhile
	next    *cachedCall // the next newer one of the same host and procedure, or the next free one
}

func (o *cachedCall) size() int64 { return int64(len(o.results)) + keptOverhead }

// hostResults are the results kept for one host.
type hostResults struct {
	host  peerhost.Host
	procs []procResults // there are few procedures marked Once
	bytes int64
	place int // index in the heap
}

// procResults are the results kept for one procedure of a host.
type procResults struct {
	proc        procKey
	first, last *cachedCall // oldest first
	bytes       int64
}

// newReplyCache returns a cache of limit bytes, or nil if limit is negative.
func newReplyCache(limit int64) *replyCache {
	if limit < 0 {
		return nil
	}
	return &replyCache{
		seed: maphash.MakeSeed(), limit: limit,
		calls: make(map[replyKey]*cachedCall), hosts: make(map[peerhost.Host]*hostResults),
	}
}

// Arrive enters a call. The call is executed unless it is a copy of another call. Then the results
// of that call answer it, now or when they exist. A client that lost its connection repeats its
// calls, maybe before the server notices the loss. Each copy is answered, because each may be on a
// live connection.
//
// A call whose bulk data has not arrived is executed until the data arrives (onceSource).
func (r *replyCache) Arrive(a *OnceCall) bool {
	k, ok := makeKey(r.seed, a.Call)
	if !ok {
		return true
	}
	coming := a.Args.FetchVia(a.once.via)
	if coming {
		a.once.args = *a.Args
	}
	return r.arrive(a, k, !coming)
}

// again is Arrive for a call that fetched has stopped after its bulk data arrived.
func (r *replyCache) again(a *OnceCall) bool { return r.arrive(a, a.State.(*cachedCall).key, true) }

// arrive is Arrive for a call with a key. It adds the call to r.calls only if enter is true.
func (r *replyCache) arrive(a *OnceCall, k replyKey, enter bool) bool {
	var o *cachedCall
	r.mu.Lock()
	if enter || r.bare {
		o = r.find(k)
	}
	switch {
	case o == nil:
		if o, _ = a.State.(*cachedCall); o == nil {
			o = r.get()
			o.key, a.State = k, o
		}
		if enter {
			r.enter(o)
		}
		r.mu.Unlock()
		return true
	case o.done:
		r.forget(a)
		a.key = append(a.key[:0], o.results...) // a copy: without r.mu, o may be reused
		r.mu.Unlock()
		a.Answer(a.key)
	default:
		r.forget(a)
		o.waiting = append(o.waiting, a)
		r.mu.Unlock()
	}
	return false
}

// get returns an unused cachedCall; r.mu is held.
func (r *replyCache) get() *cachedCall {
	if r.free == nil {
		calls, results := make([]cachedCall, callsAtOnce), make([]byte, callsAtOnce*usualResults)
		for i := range calls {
			calls[i].results = results[i*usualResults:][:0:usualResults]
			r.put(&calls[i])
		}
	}
	o := r.free
	r.free, o.next = o.next, nil
	return o
}

// put takes back a cachedCall; r.mu is held.
func (r *replyCache) put(o *cachedCall) {
	results := o.results[:0]
	if cap(results) > usualResults {
		results = make([]byte, 0, usualResults)
	}
	*o = cachedCall{results: results, next: r.free}
	r.free = o
}

// forget takes back the cachedCall of a call, if it has one; r.mu is held.
func (r *replyCache) forget(a *OnceCall) {
	if o, ok := a.State.(*cachedCall); ok {
		a.State = nil
		r.put(o)
	}
}

// find returns the pending call or the kept results for a key, or nil; r.mu is held.
func (r *replyCache) find(k replyKey) *cachedCall {
	o := r.calls[k]
	if o != nil && o.done && time.Since(o.since) > maxReplyAge {
		return nil
	}
	return o
}

// enter adds a call to r.calls; r.mu is held.
func (r *replyCache) enter(o *cachedCall) { o.entered, r.calls[o.key] = true, o }

// leave undoes enter and forgets the call; r.mu is held.
func (r *replyCache) leave(a *OnceCall, o *cachedCall) {
	if o.entered {
		delete(r.calls, o.key)
	}
	r.forget(a)
}

// fetched is called when n bytes of a call's bulk data have arrived. It reports whether the call
// may go on, which it may unless it is a copy of another call.
func (r *replyCache) fetched(a *OnceCall, n int, data [][]byte) bool {
	o := a.State.(*cachedCall)
	sum := a.sum(r.seed, n, data)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case o.entered:
		return true
	case r.bare && r.find(o.key) != nil:
		return false // the other call was answered without fetching its data
	}
	o.key.sum = sum
	if r.find(o.key) != nil {
		return false
	}
	r.enter(o)
	return true
}

// Executed keeps the results of a call if they are short enough, and answers the waiting copies.
func (r *replyCache) Executed(a *OnceCall, m *xdr.Message) {
	o, ok := a.State.(*cachedCall)
	if !ok {
		return
	}
	keep := m.Len() <= maxKeptResults
	if keep {
		o.results = m.AppendTo(o.results[:0])
	}
	r.mu.Lock()
	if !o.entered && r.find(o.key) == nil { // the handler did not fetch the data
		r.enter(o)
		r.bare = true
	}
	waiting := o.waiting
	o.waiting = nil
	if keep && o.entered {
		r.keep(o)
	} else {
		r.leave(a, o)
	}
	r.mu.Unlock()
	if len(waiting) == 0 {
		return
	}
	results := m.AppendTo(make([]byte, 0, m.Len()))
	for _, w := range waiting {
		w.Answer(results)
	}
}

// Failed forgets a call that is answered with an error. The error may come from the end of its
// connection while it fetched arguments. So the waiting copy that arrived last is executed in its
// place.
func (r *replyCache) Failed(a *OnceCall) {
	o, ok := a.State.(*cachedCall)
	if !ok {
		return
	}
	r.mu.Lock()
	last := len(o.waiting) - 1
	if last < 0 {
		r.leave(a, o)
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

// keep keeps results, and drops others if there are too many; r.mu is held.
func (r *replyCache) keep(o *cachedCall) {
	now := time.Now()
	o.done, o.since = true, now
	h := r.hosts[o.key.host]
	if h == nil {
		h = &hostResults{host: o.key.host}
		r.hosts[h.host] = h
		heap.Push(&r.heap, h)
	}
	p := h.of(o.key.procKey)
	if p.last == nil {
		p.first = o
	} else {
		p.last.next = o
	}
	p.last = o
	r.count(h, p, o.size())
	if now.Sub(r.swept) > sweepPause {
		r.sweep(now)
	}
	for r.bytes > r.limit && len(r.heap) > 0 {
		h := r.heap[0]
		r.dropOldest(h, h.most())
	}
}

// of returns the results of a procedure, adding an entry if there is none.
func (h *hostResults) of(k procKey) *procResults {
	for i := range h.procs {
		if h.procs[i].proc == k {
			return &h.procs[i]
		}
	}
	h.procs = append(h.procs, procResults{proc: k})
	return &h.procs[len(h.procs)-1]
}

// most returns the results of the procedure that uses the most memory.
func (h *hostResults) most() *procResults {
	most := &h.procs[0]
	for i := range h.procs {
		if p := &h.procs[i]; p.bytes > most.bytes {
			most = p
		}
	}
	return most
}

// sweep drops expired results.
func (r *replyCache) sweep(now time.Time) {
	r.swept = now
	for _, h := range r.hosts {
		for i := range h.procs {
			p := &h.procs[i]
			for p.first != nil && now.Sub(p.first.since) > maxReplyAge {
				r.dropOldest(h, p)
			}
		}
	}
}

// dropOldest drops the oldest results of a procedure of a host, which must have some.
func (r *replyCache) dropOldest(h *hostResults, p *procResults) {
	o := p.first
	if r.calls[o.key] == o { // it may be a later call with the same key
		delete(r.calls, o.key)
	}
	if p.first = o.next; p.first == nil {
		p.last = nil
	}
	r.count(h, p, -o.size())
	r.put(o)
	if h.bytes == 0 {
		delete(r.hosts, h.host)
		heap.Remove(&r.heap, h.place)
	}
}

// count adds n bytes, maybe negative, to the memory of a host's procedure.
func (r *replyCache) count(h *hostResults, p *procResults, n int64) {
	r.bytes += n
	h.bytes += n
	p.bytes += n
	heap.Fix(&r.heap, h.place)
}

// mostResults is a heap with the host that uses the most memory first.
type mostResults []*hostResults

func (m mostResults) Len() int           { return len(m) }
func (m mostResults) Less(i, j int) bool { return m[i].bytes > m[j].bytes }

func (m mostResults) Swap(i, j int) {
	m[i], m[j] = m[j], m[i]
	m[i].place, m[j].place = i, j
}

// Push implements heap.Interface.
func (m *mostResults) Push(x any) {
	h := x.(*hostResults)
	h.place = len(*m)
	*m = append(*m, h)
}

// Pop implements heap.Interface.
func (m *mostResults) Pop() any {
	last := len(*m) - 1
	h := (*m)[last]
	(*m)[last] = nil
	*m = (*m)[:last]
	return h
}
