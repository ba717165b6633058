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
	made     *fair.Shares
	half     *fair.Shares
	halves   int       // contexts that are being made
	sweepAt  time.Time // when to look for those whose time is over
}

// hostContexts are the contexts of a host, the one that was used last at the end.
type hostContexts struct{ made, half list.List[serverContext] }

// sweepEvery is how often contexts are looked for whose time is over.
const sweepEvery = 10 * time.Second

// expiredFor is how long a context is kept when it has expired, so that its client is told that, and
// not that there is no such context.
const expiredFor = 5 * time.Minute

func newTable(most int, idle time.Duration, stats *serverStats) *table {
	return &table{
		idle: idle, stats: stats,
		contexts: make(map[handle]*serverContext),
		hosts:    make(map[peerhost.Host]*hostContexts),
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
	of := &t.hosts[c.host].made
	of.Remove(&c.place)
	of.Push(&c.place, c)
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

// admits reports whether a host may begin a context: there is a place for it, or it has one of its
// own to leave it.
func (t *table) admits(h peerhost.Host, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepIfDue(now)
	of := t.hosts[h]
	return t.made.Fits(h, 1) || of != nil && of.made.First() != nil
}

// insert puts a context into the table, with a handle if it has none yet. One that its host has no
// place for takes that of another one of the host; if there is none, insert reports false.
func (t *table) insert(c *serverContext, now time.Time) bool {
	if c.handle == (handle{}) {
		_, _ = rand.Read(c.handle[:]) // which never fails
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweepIfDue(now)
	shares := t.shares(c)
	if !shares.Take(c.host, 1) {
		oldest := t.of(c).First()
		if oldest != nil {
			t.remove(oldest)
			t.stats.evicted.Add(1)
		}
		if oldest == nil || !shares.Take(c.host, 1) {
			t.forget(c.host)
			return false
		}
	}
	if c.made != nil {
		c.until = now.Add(t.idle)
	} else {
		t.halves++
	}
	t.of(c).Push(&c.place, c)
	t.contexts[c.handle] = c
	return true
}

// shares returns those of which a context takes its place.
func (t *table) shares(c *serverContext) *fair.Shares {
	if c.made != nil {
		return t.made
	}
	return t.half
}

// of returns the list of its host to which a context belongs, with t.mu held.
func (t *table) of(c *serverContext) *list.List[serverContext] {
	of := t.hosts[c.host]
	if of == nil {
		of = new(hostContexts)
		t.hosts[c.host] = of
	}
	if c.made != nil {
		return &of.made
	}
	return &of.half
}

// remove takes a context out, with t.mu held.
func (t *table) remove(c *serverContext) {
	delete(t.contexts, c.handle)
	t.of(c).Remove(&c.place)
	t.shares(c).Give(c.host, 1)
	if c.made == nil {
		t.halves--
	}
	t.forget(c.host)
}

// forget leaves no trace of a host without contexts, with t.mu held.
func (t *table) forget(h peerhost.Host) {
	if of := t.hosts[h]; of != nil && of.made.First() == nil && of.half.First() == nil {
		delete(t.hosts, h)
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
	return len(t.contexts) - t.halves, t.halves
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
