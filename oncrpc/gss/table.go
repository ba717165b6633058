package gss

import (
	"crypto/rand"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// handle is what a context is known by (RFC 2203 section 5.2.3.1). Nobody can guess it.
type handle [16]byte

// serverContext is a context with a client, or one that is being made.
type serverContext struct {
	handle    handle
	host      peerhost.Host // that has begun it
	principal string
	made      Context
	window    window

	// While it is being made; the table guards it.
	negotiation Negotiation
	rounds      int

	place   list.Place[serverContext] // among those of its host
	named   list.Place[serverContext] // when it is made: among those of its principal
	expires time.Time                 // zero: never
	until   time.Time                 // unless it is used
}

// table has the contexts of a server.
type table struct {
	idle  time.Duration
	stats *serverStats

	mu       sync.Mutex // guards what follows
	contexts map[handle]*serverContext
	hosts    map[peerhost.Host]*hostContexts
	names    map[string]*queue // of principals: their contexts that are made
	made     *fair.Shares
	half     *fair.Shares
	sweepAt  time.Time // when to look for those whose time is over
}

// hostContexts are the contexts of a host, the one that was used last at the end.
type hostContexts struct{ made, half queue }

// queue returns the one to which a context such as c belongs.
func (h *hostContexts) queue(c *serverContext) *queue {
	if c.made != nil {
		return &h.made
	}
	return &h.half
}

// queue is a list with a length.
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

// sweepEvery is how often contexts are looked for whose time is over.
const sweepEvery = 10 * time.Second

// expiredFor is how long a context is kept when it has expired, so that its client is told that,
// and not that there is no such context.
const expiredFor = 5 * time.Minute

func newTable(most int, idle time.Duration, stats *serverStats) *table {
	return &table{
		idle: idle, stats: stats,
		contexts: make(map[handle]*serverContext),
		hosts:    make(map[peerhost.Host]*hostContexts),
		names:    make(map[string]*queue),
		made:     fair.New(int64(most)),
		half:     fair.New(maxHalfMade),
	}
}

// find returns a context that is made, and counts that as a use.
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

// claim takes a context out of the table that is being made, for its next round.
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

// insert puts a context into the table, with a handle if it has none yet. If its host may not have
// another one, it takes the place of that of the host which was not used for longest; if the host
// has none, and there is no place, that of the host or the principal which has most.
func (t *table) insert(c *serverContext, now time.Time) {
	if c.handle == (handle{}) {
		_, _ = rand.Read(c.handle[:]) // which never fails
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
		t.stats.evicted.Add(1)
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

// shares returns those of which a context takes its place.
func (t *table) shares(c *serverContext) *fair.Shares {
	if c.made != nil {
		return t.made
	}
	return t.half
}

// of returns the list of its host to which a context belongs, with t.mu held.
func (t *table) of(c *serverContext) *queue {
	of := t.hosts[c.host]
	if of == nil {
		of = new(hostContexts)
		t.hosts[c.host] = of
	}
	return of.queue(c)
}

// most returns the longest of the lists such as c belongs to, of all hosts, and of all principals:
// one principal may come from many hosts. Of lists that are as long as each other, it is the one
// whose first element was not used for longest.
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

// remove takes a context out, with t.mu held.
func (t *table) remove(c *serverContext) {
	t.shares(c).Give(c.host, 1)
	t.unlink(c)
}

// unlink takes a context out whose place another one takes, with t.mu held. There is no trace of a
// host without contexts then.
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

// drop takes a context out, and reports whether it was there.
func (t *table) drop(c *serverContext) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.contexts[c.handle] != c {
		return false
	}
	t.remove(c)
	return true
}

// count returns the numbers of contexts that are made, and that are being made.
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

// sweep takes out the contexts whose time is over, with t.mu held.
func (t *table) sweep(now time.Time) {
	t.sweepAt = now.Add(sweepEvery)
	for _, c := range t.contexts {
		if !now.Before(c.until) || c.expired(now.Add(-expiredFor)) {
			t.remove(c)
			t.stats.expired.Add(1)
		}
	}
}

func (c *serverContext) expired(now time.Time) bool {
	return !c.expires.IsZero() && !now.Before(c.expires)
}
