package oncrpc

import (
	"sync"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/rpcrdma/go-rpcrdma/internal/indexheap"
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
	// keptOverhead is the approximate memory in bytes of kept results, not counting the results:
	// the cachedCall with its room and two entries of a map.
	keptOverhead = 512
	// maxReplyAge is how long a reply is valid. It is longer than clients take to reconnect. It
	// also limits how long a restarted client that reuses its transaction ids can get old replies.
	maxReplyAge = 2 * time.Minute
	// sweepPause is the time between searches for expired replies.
	sweepPause = maxReplyAge / 4
)

// replyCache is a duplicate request cache, and a ReplayPolicy. It keeps the results of procedures
// marked Once for clients that did not get them and repeat the call. It belongs to the server, not
// to a connection, because clients repeat calls over new connections.
//
// Over RDMA the port of a client means nothing, and two live connections of a host may belong to
// two clients that use the same transaction ids. So the reply that was sent on one connection does
// not answer a newer connection once the client is known to have got it (Origin.tookReply): it
// would not have repeated the call. It answers older connections, on which a late copy may arrive.
//
// All hosts share its memory. When it is full, the host that uses the most loses its oldest
// results, of the procedure that uses the most. So a host that uses no more than its share keeps
// its results for maxReplyAge, whatever others do. And a host's many WRITEs do not displace the
// result of its REMOVE.
type replyCache struct {
	hash  *xxh3.Hasher // with the seed of all sums
	limit int64        // bytes

	mu sync.Mutex // guards the fields below, and the cachedCalls in them
	// calls has each call by its key, and one with bulk data also by the key without the data.
	calls map[replyKey]*cachedCall
	bytes int64
	hosts map[hostID]*hostResults
	most  indexheap.Heap[*hostResults] // the same hosts; the one that uses the most memory first
	swept time.Time                    // last search for expired replies
	free  *cachedCall                  // unused
}

// cachedCall is a pending call or the results of an executed one. It is the State of an OnceCall.
type cachedCall struct {
	key     replyKey // without bulk data until that has been fetched
	bare    uint64   // key.sum without bulk data
	origin  *Origin  // of the call that is or was executed
	coming  bool     // bulk data was to be fetched and was not
	entered bool     // it is in replyCache.calls
	done    bool
	results []byte
	since   time.Time   // when the results were kept
	left    uint64      // calls that origin had made when the reply left; 0: not known to have left
	held    bool        // the OnceCall refers to this
	dropped bool        // to be put back when it no longer does
	waiting []*OnceCall // copies that arrived meanwhile
	next    *cachedCall // the next newer one of the same host and procedure, or the next free one
}

func (o *cachedCall) size() int64 { return int64(len(o.results)) + keptOverhead }

// hostResults are the results kept for one host.
type hostResults struct {
	host  hostID
	procs []procResults // there are few procedures marked Once
	bytes int64
	place int // in replyCache.most
}

// Before reports whether the host uses more memory than another one.
func (h *hostResults) Before(o *hostResults) bool { return h.bytes > o.bytes }

// Place is for indexheap.
func (h *hostResults) Place() *int { return &h.place }

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
		hash: newHash(), limit: limit,
		calls: make(map[replyKey]*cachedCall), hosts: make(map[hostID]*hostResults),
	}
}

// Arrive enters a call. The call is executed unless it is a copy of another call. Then the results
// of that call answer it, now or when they exist. A client that lost its connection repeats its
// calls, maybe before the server notices the loss. Each copy is answered, because each may be on a
// live connection.
//
// A call whose bulk data has not arrived is executed until the data arrives (onceData).
func (r *replyCache) Arrive(a *OnceCall) bool {
	k, ok := makeKey(a.Call)
	if !ok {
		return true
	}
	coming := a.Args.Watch(&a.once)
	if coming {
		a.once.args = *a.Args
	}
	r.mu.Lock()
	first := r.find(k, a.origin)
	if coming && first != nil && !first.coming {
		first = nil // the data will tell
	}
	if first == nil {
		o := r.get()
		o.key, o.bare, o.origin, o.coming, a.State = k, k.sum, a.origin, coming, o
		if !coming {
			r.enter(o)
		}
	}
	return r.follow(a, first)
}

// again is Arrive for a copy whose handler was started.
func (r *replyCache) again(a *OnceCall) bool {
	o := a.State.(*cachedCall)
	r.mu.Lock()
	first := r.find(o.key, a.origin)
	if first == nil && !o.coming { // it has failed meanwhile; without data, fetched enters this one
		r.enter(o)
	}
	return r.follow(a, first)
}

// follow lets first answer its copy a. It returns true if first is nil. r.mu is held, and is
// unlocked on return.
func (r *replyCache) follow(a *OnceCall, first *cachedCall) bool {
	switch {
	case first == nil:
		r.mu.Unlock()
		return true
	case first.done:
		r.forget(a)
		a.key = append(a.key[:0], first.results...) // a copy: without r.mu, first may be reused
		r.mu.Unlock()
		a.Answer(a.key)
	default:
		r.forget(a)
		first.waiting = append(first.waiting, a)
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
	r.free, o.next, o.held = o.next, nil, true
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

// find returns the pending call or the kept results that answer a call with a key, or nil; r.mu is
// held.
func (r *replyCache) find(k replyKey, from *Origin) *cachedCall {
	o := r.calls[k]
	switch {
	case o == nil || !o.done:
	case time.Since(o.since) > maxReplyAge,
		from.number > o.origin.number && o.origin.tookReply(o.left):
		return nil
	}
	return o
}

// enter adds a call to r.calls; r.mu is held.
func (r *replyCache) enter(o *cachedCall) {
	o.entered = true
	r.calls[o.key] = o
	if o.key.sum != o.bare {
		r.calls[o.bareKey()] = o
	}
}

// bareKey returns the key without bulk data.
func (o *cachedCall) bareKey() replyKey {
	k := o.key
	k.sum = o.bare
	return k
}

// remove undoes enter; r.mu is held.
func (r *replyCache) remove(o *cachedCall) {
	for _, k := range [...]replyKey{o.key, o.bareKey()} {
		if r.calls[k] == o { // it may be a later call with the same key
			delete(r.calls, k)
		}
	}
}

// leave forgets a call, which may have been entered; r.mu is held.
func (r *replyCache) leave(a *OnceCall, o *cachedCall) {
	r.remove(o)
	r.forget(a)
}

// fetched is called when bulk data of a call has arrived, with the sum over everything. It reports
// whether the call may go on, which it may unless it is a copy of another call.
func (r *replyCache) fetched(a *OnceCall, sum uint64) bool {
	o := a.State.(*cachedCall)
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.entered {
		return true
	}
	if first := r.find(o.key, a.origin); first != nil && first.coming {
		return false // the other call was answered without fetching its data
	}
	o.key.sum, o.coming = sum, false
	if r.find(o.key, a.origin) != nil {
		return false
	}
	r.enter(o)
	return true
}

// unfetched reports whether a call whose handler has returned is a copy although its data was not
// fetched: it equals another call in all the rest. Its handler may have refused what the other's
// did, because something has changed meanwhile.
func (r *replyCache) unfetched(a *OnceCall) bool {
	o, ok := a.State.(*cachedCall)
	if !ok || !o.coming {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return !o.entered && r.find(o.key, a.origin) != nil
}

// leaves notes that the reply to an executed call leaves over a transport with credits.
func (r *replyCache) leaves(o *cachedCall) {
	r.mu.Lock()
	defer r.mu.Unlock()
	o.left = o.origin.received.Load()
	r.letGo(o)
}

// ended notes that an executed call has ended.
func (r *replyCache) ended(a *OnceCall) {
	if o, ok := a.State.(*cachedCall); ok {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.letGo(o)
	}
}

// letGo notes that the OnceCall no longer refers to its cachedCall; r.mu is held.
func (r *replyCache) letGo(o *cachedCall) {
	if o.held = false; o.dropped {
		r.put(o)
	}
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
	if !o.entered && r.find(o.key, a.origin) == nil { // the handler did not fetch the data
		r.enter(o)
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
	w.State, a.State = o, nil
	o.origin = w.origin
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
	for r.bytes > r.limit && r.most.Len() > 0 {
		h := r.most.First()
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
	r.remove(o)
	if p.first = o.next; p.first == nil {
		p.last = nil
	}
	r.count(h, p, -o.size())
	if o.held {
		o.dropped = true
	} else {
		r.put(o)
	}
	if h.bytes == 0 {
		delete(r.hosts, h.host)
	}
}

// count adds n bytes, maybe negative, to the memory of a host's procedure.
func (r *replyCache) count(h *hostResults, p *procResults, n int64) {
	r.bytes += n
	h.bytes += n
	p.bytes += n
	r.most.Set(h, h.bytes > 0)
}
