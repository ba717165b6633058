package gss

import (
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// handle identifies a context (RFC 2203 section 5.2.3.1). It is random and cannot be guessed.
type handle [16]byte

// serverContext is a context with a client, maybe still being created.
type serverContext struct {
	handle    handle
	host      peerhost.Host // the host that began it
	principal string
	made      Context
	window    window

	// During creation; guarded by the table.
	negotiation Negotiation
	rounds      int

	place   list.Place[serverContext] // in the queue of its host
	named   list.Place[serverContext] // in the queue of its principal, once complete
	expires time.Time                 // zero means never
	until   time.Time                 // end of its life unless it is used
}

// table holds the contexts of a server.
type table struct {
	idle  time.Duration
	stats *ServerStats

	mu       sync.Mutex // guards the fields below
	contexts map[handle]*serverContext
	hosts    map[peerhost.Host]*hostContexts
	names    map[string]*queue // complete contexts by principal
	made     *fair.Shares
	half     *fair.Shares
	sweepAt  time.Time // time of the next sweep
}

// hostContexts are the contexts of a host, the least recently used first.
type hostContexts struct{ made, half queue }

// queue returns the queue to which c belongs.
func (h *hostContexts) queue(c *serverContext) *queue {
	if c.made != nil {
		return &h.made
	}
	return &h.half
}

// queue is a list with its length.
type queue struct {
	list list.List[serverContext]
	n    int
}

func (q *queue) first() *serverContext { return q.list.First() }

func (q *queue) push(at *list.Place[serverContext], c *serverContext) {
	q.list.Push(at, c)
	q.n++
}

func (q *queue) remove(at *list.Place[serverContext]) {
	q.list.Remove(at)
	q.n--
}

// sweepEvery is the time between sweeps for contexts whose time is over.
const sweepEvery = 10 * time.Second

// expiredFor is how long an expired context is kept, so that its client learns that it has expired,
// and not that there is no such context.
const expiredFor = 5 * time.Minute

func newTable(most int, idle time.Duration, stats *ServerStats) *table {
	return &table{
		idle: idle, stats: stats,
		contexts: make(map[handle]*serverContext),
		hosts:    make(map[peerhost.Host]*hostContexts),
		names:    make(map[string]*queue),
		made:     fair.New(int64(most)),
		half:     fair.New(maxHalfMade),
	}
}

// find returns a complete context, and counts that as a use.
func (t *table) find(h []byte, now time.Time) *serverContext {
	if len(h) != len(handle{}) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepIfDue(now)
	c := t.contexts[handle(h)]
	if c == nil || c.made == nil || !now.Before(c.until) {
		return nil
	}
	c.until = now.Add(t.idle)
	of, by := &t.hosts[c.host].made, t.names[c.principal]
	of.remove(&c.place)
	of.push(&c.place, c)
	by.remove(&c.named)
	by.push(&c.named, c)
	return c
}

// claim removes a context under creation from the table, for its next round.
func (t *table) claim(h []byte, now time.Time) *serverContext {
	if len(h) != len(handle{}) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepIfDue(now)
	c := t.contexts[handle(h)]
	if c == nil || c.made != nil || !now.Before(c.until) {
		return nil
	}
	t.remove(c)
	return c
}

// insert adds a context to the table, with a new handle if it has none. If its host may have no
// more, it replaces the host's least recently used one. If the host has none and the table is full,
// it replaces one of the host or principal that has the most.
func (t *table) insert(c *serverContext, now time.Time) {
	if c.handle == (handle{}) {
		_, _ = rand.Read(c.handle[:]) // never fails
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepIfDue(now)
	if shares := t.shares(c); !shares.Take(c.host, 1) {
		oldest := t.of(c).first()
		if oldest == nil {
			oldest = t.most(c).first()
			shares.Give(oldest.host, 1)
			shares.Take(c.host, 1)
		}
		t.unlink(oldest)
		atomic.AddUint64(&t.stats.Evicted, 1)
	}
	if c.made != nil {
		c.until = now.Add(t.idle)
	}
	t.of(c).push(&c.place, c)
	t.contexts[c.handle] = c
	if c.made == nil {
		return
	}
	by := t.names[c.principal]
	if by == nil {
		by = new(queue)
		t.names[c.principal] = by
	}
	by.push(&c.named, c)
}

// shares returns the Shares that count a context.
func (t *table) shares(c *serverContext) *fair.Shares {
	if c.made != nil {
		return t.made
	}
	return t.half
}

// of returns the queue of its host to which a context belongs; t.mu is held.
func (t *table) of(c *serverContext) *queue {
	of := t.hosts[c.host]
	if of == nil {
		of = new(hostContexts)
		t.hosts[c.host] = of
	}
	return of.queue(c)
}

// most returns the longest queue to which a context like c may belong, of all hosts and all
// principals, since one principal may come from many hosts. Among equals it returns the one with
// the least recently used context.
func (t *table) most(c *serverContext) (most *queue) {
	consider := func(q *queue) {
		if q.n > 0 && (most == nil || q.n > most.n ||
			q.n == most.n && q.first().until.Before(most.first().until)) {
			most = q
		}
	}
	for _, of := range t.hosts {
		consider(of.queue(c))
	}
	if c.made != nil {
		for _, by := range t.names {
			consider(by)
		}
	}
	return most
}

// remove removes a context; t.mu is held.
func (t *table) remove(c *serverContext) {
	t.shares(c).Give(c.host, 1)
	t.unlink(c)
}

// unlink removes a context without giving its share back; t.mu is held. It leaves no trace of a
// host without contexts.
func (t *table) unlink(c *serverContext) {
	delete(t.contexts, c.handle)
	t.of(c).remove(&c.place)
	if of := t.hosts[c.host]; of.made.n == 0 && of.half.n == 0 {
		delete(t.hosts, c.host)
	}
	if c.made == nil {
		return
	}
	by := t.names[c.principal]
	if by.remove(&c.named); by.n == 0 {
		delete(t.names, c.principal)
	}
}

// drop removes a context and reports whether it was in the table.
func (t *table) drop(c *serverContext) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.contexts[c.handle] != c {
		return false
	}
	t.remove(c)
	return true
}

// count returns the number of complete contexts, and of those under creation.
func (t *table) count(now time.Time) (made, half int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(now)
	for _, of := range t.hosts {
		made, half = made+of.made.n, half+of.half.n
	}
	return made, half
}

func (t *table) sweepIfDue(now time.Time) {
	if !now.Before(t.sweepAt) {
		t.sweep(now)
	}
}

// sweep removes the contexts whose time is over; t.mu is held.
func (t *table) sweep(now time.Time) {
	t.sweepAt = now.Add(sweepEvery)
	for _, c := range t.contexts {
		if !now.Before(c.until) || c.expired(now.Add(-expiredFor)) {
			t.remove(c)
			atomic.AddUint64(&t.stats.Expired, 1)
		}
	}
}

func (c *serverContext) expired(now time.Time) bool {
	return !c.expires.IsZero() && !now.Before(c.expires)
}
