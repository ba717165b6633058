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
	// usualResults is the room in bytes that results have without memory of their own: those of a
	// WRITE of NFS.
	usualResults = 144
	// callsAtOnce is for how many calls memory is made at a time.
	callsAtOnce = 128
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
// oldest results, of the procedure that it has most of. So a host keeps what it has for maxReplyAge
// as long as that is no more than its share of the memory, whatever others do; and its many WRITEs
// leave it the result of its REMOVE.
type replyCache struct {
	seed  maphash.Seed
	limit int64 // bytes

	mu    sync.Mutex // guards what follows, and the calls in it
	calls map[replyKey]*cachedCall
	bytes int64
	bare  bool // a call has been executed that did not ask for its bulk data
	hosts map[peerhost.Host]*hostResults
	heap  mostResults // the same
	swept time.Time
	free  *cachedCall // which are not in use
}

// cachedCall is a call that is being executed, or its results: the State of an OnceCall.
type cachedCall struct {
	key     replyKey // by the inline arguments alone until bulk data has been fetched
	entered bool     // it is the one of its key to be executed
	done    bool
	results []byte
	since   time.Time   // of the results
	waiting []*OnceCall // those of the same key that have arrived meanwhile
	next    *cachedCall // of the same host and procedure, completed after this one; or of the free
}

func (o *cachedCall) size() int64 { return int64(len(o.results)) + keptOverhead }

// hostResults are the results that are kept for one host.
type hostResults struct {
	host  peerhost.Host
	procs []procResults // as few as there are procedures that must be executed once
	bytes int64
	place int // in the heap
}

// procResults are those of one procedure.
type procResults struct {
	proc        procKey
	first, last *cachedCall // oldest first
	bytes       int64
}

// newReplyCache returns a cache of so many bytes, or nil for none.
func newReplyCache(limit int64) *replyCache {
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
//
// A call whose bulk data is still to come is executed until that is here (onceSource).
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

// again is Arrive for a call whose bulk data has come, and which fetched has stopped.
func (r *replyCache) again(a *OnceCall) bool { return r.arrive(a, a.State.(*cachedCall).key, true) }

// arrive is Arrive for a call with a key, by which it is entered.
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
		a.key = append(a.key[:0], o.results...) // whose place may be taken when r.mu is not held
		r.mu.Unlock()
		a.Answer(a.key)
	default:
		r.forget(a)
		o.waiting = append(o.waiting, a)
		r.mu.Unlock()
	}
	return false
}

// get returns the memory of a call; r.mu is held.
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

// put takes the memory of a call back; r.mu is held.
func (r *replyCache) put(o *cachedCall) {
	results := o.results[:0]
	if cap(results) > usualResults {
		results = make([]byte, 0, usualResults)
	}
	*o = cachedCall{results: results, next: r.free}
	r.free = o
}

// forget takes back what a call has, if anything; r.mu is held.
func (r *replyCache) forget(a *OnceCall) {
	if o, ok := a.State.(*cachedCall); ok {
		a.State = nil
		r.put(o)
	}
}

// find returns the call with a key that is being executed, or whose results are kept; r.mu is held.
func (r *replyCache) find(k replyKey) *cachedCall {
	o := r.calls[k]
	if o != nil && o.done && time.Since(o.since) > maxReplyAge {
		return nil
	}
	return o
}

// enter makes a call the one of its key; r.mu is held.
func (r *replyCache) enter(o *cachedCall) { o.entered, r.calls[o.key] = true, o }

// leave undoes enter, and forgets the call; r.mu is held.
func (r *replyCache) leave(a *OnceCall, o *cachedCall) {
	if o.entered {
		delete(r.calls, o.key)
	}
	r.forget(a)
}

// fetched is told that n bytes of bulk data of a call have come, and reports whether it goes on: it
// does unless it is the copy of another.
func (r *replyCache) fetched(a *OnceCall, n int, data [][]byte) bool {
	o := a.State.(*cachedCall)
	sum := a.sum(r.seed, n, data)
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case o.entered:
		return true
	case r.bare && r.find(o.key) != nil:
		return false // the other was answered without its data
	}
	o.key.sum = sum
	if r.find(o.key) != nil {
		return false
	}
	r.enter(o)
	return true
}

// Executed keeps the results of a call, if they are short enough, and answers those that wait for
// them.
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
	if !o.entered && r.find(o.key) == nil { // its data was not asked for
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

// keep keeps results, in place of others if there are too many; r.mu is held.
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

// of returns the results of a procedure.
func (h *hostResults) of(k procKey) *procResults {
	for i := range h.procs {
		if h.procs[i].proc == k {
			return &h.procs[i]
		}
	}
	h.procs = append(h.procs, procResults{proc: k})
	return &h.procs[len(h.procs)-1]
}

// most returns the results of the procedure that has most of them.
func (h *hostResults) most() *procResults {
	most := &h.procs[0]
	for i := range h.procs {
		if p := &h.procs[i]; p.bytes > most.bytes {
			most = p
		}
	}
	return most
}

// sweep drops what counts no longer.
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

// dropOldest drops the oldest results of a procedure of a host, which has some.
func (r *replyCache) dropOldest(h *hostResults, p *procResults) {
	o := p.first
	if r.calls[o.key] == o { // and not a later call of the same key
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

// count notes that a procedure of a host has n bytes more.
func (r *replyCache) count(h *hostResults, p *procResults, n int64) {
	r.bytes += n
	h.bytes += n
	p.bytes += n
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
