package users

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// The bounds of a cache. Linux's mountd has the kernel keep groups for as long.
const (
	knownTime   = 30 * time.Minute // for which an answer is believed
	unknownTime = time.Minute      // and that there is none
	lookupTime  = 5 * time.Second  // for which a look-up is waited for
	maxKnown    = 4096             // answers
	maxLookups  = 64               // look-ups under way
)

// Why it is not known who somebody is.
var (
	errSlow = errors.New("the user database does not answer")
	errBusy = errors.New("the user database does not answer, and too many wait for it already")
)

// cache keeps the answers of a look-up that may block for as long as it likes.
type cache[K comparable, V any] struct {
	// lookup answers, and says whether it has found something. It is called once at a time for a
	// key.
	lookup func(K) (v V, found bool, err error)

	mu      sync.Mutex // guards what follows
	known   map[K]answer[V]
	pending map[K]*pending[V]
}

// answer is what is known until some time.
type answer[V any] struct {
	value V
	until time.Time
}

// pending is a look-up under way.
type pending[V any] struct {
	slowAt time.Time     // from when on nobody waits any more
	done   chan struct{} // closed when the rest is there
	value  V
	err    error
}

func newCache[K comparable, V any](lookup func(K) (V, bool, error)) *cache[K, V] {
	return &cache[K, V]{
		lookup: lookup, known: make(map[K]answer[V]), pending: make(map[K]*pending[V]),
	}
}

// get returns the answer for k, and waits for it within ctx and lookupTime. A look-up that has
// taken longer holds up nobody else: callers wait on workers, of which each call would keep one.
func (c *cache[K, V]) get(ctx context.Context, k K) (v V, err error) {
	c.mu.Lock()
	if a, ok := c.known[k]; ok && time.Now().Before(a.until) {
		c.mu.Unlock()
		return a.value, nil
	}
	p := c.pending[k]
	if p == nil && len(c.pending) < maxLookups {
		p = &pending[V]{slowAt: time.Now().Add(lookupTime), done: make(chan struct{})}
		c.pending[k] = p
		go c.look(k, p)
	}
	c.mu.Unlock()
	if p == nil {
		return v, errBusy
	}
	left := time.Until(p.slowAt)
	if left <= 0 {
		return v, cmp.Or(ctx.Err(), errSlow)
	}
	slow := time.NewTimer(left)
	defer slow.Stop()
	select {
	case <-p.done:
		return p.value, p.err
	case <-slow.C:
		return v, errSlow
	case <-ctx.Done():
		return v, ctx.Err()
	}
}

// look looks k up, for all who wait for it.
func (c *cache[K, V]) look(k K, p *pending[V]) {
	v, found, err := c.lookup(k)
	p.value, p.err = v, err
	life := unknownTime
	if found {
		life = knownTime
	}
	c.mu.Lock()
	delete(c.pending, k)
	if err == nil {
		c.keep(k, answer[V]{v, time.Now().Add(life)})
	}
	c.mu.Unlock()
	close(p.done)
}

// keep keeps an answer. Where there is no room another one goes, whichever it is.
func (c *cache[K, V]) keep(k K, a answer[V]) {
	if _, ok := c.known[k]; !ok && len(c.known) == maxKnown {
		for other := range c.known {
			delete(c.known, other)
			break
		}
	}
	c.known[k] = a
}
