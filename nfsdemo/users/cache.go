package users

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

// Limits of a cache. Linux's mountd lets the kernel keep groups for half an hour too.
const (
	knownTime   = 30 * time.Minute // how long an answer is kept
	unknownTime = time.Minute      // how long it is kept that there is no such user
	lookupTime  = 5 * time.Second  // how long callers wait for a look-up
	maxKnown    = 4096             // answers kept
	maxLookups  = 64               // look-ups under way
)

// Errors of look-ups.
var (
	errSlow = errors.New("the user database does not answer")
	errBusy = errors.New("the user database does not answer, and too many look-ups wait for it already")
)

// cache keeps the answers of a function that may block for any time.
type cache[K comparable, V any] struct {
	// lookup returns the answer, and whether there is one. There is never more than one call for a
	// key.
	lookup func(K) (v V, found bool, err error)

	mu      sync.Mutex // guards what follows
	known   map[K]answer[V]
	pending map[K]*pending[V]
}

// answer is an answer that is valid until some time.
type answer[V any] struct {
	value V
	until time.Time
}

// pending is a look-up under way.
type pending[V any] struct {
	slowAt time.Time     // when callers stop waiting
	done   chan struct{} // closed when value and err are set
	value  V
	err    error
}

func newCache[K comparable, V any](lookup func(K) (V, bool, error)) *cache[K, V] {
	return &cache[K, V]{
		lookup: lookup, known: make(map[K]answer[V]), pending: make(map[K]*pending[V]),
	}
}

// get returns the answer for k. It waits for it until ctx ends or the look-up has taken lookupTime.
// After that no call waits, because each occupies a worker.
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

// look looks up k, for all callers that wait for it.
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

// keep keeps an answer. If the cache is full, it drops an arbitrary other one.
func (c *cache[K, V]) keep(k K, a answer[V]) {
	if _, ok := c.known[k]; !ok && len(c.known) == maxKnown {
		for other := range c.known {
			delete(c.known, other)
			break
		}
	}
	c.known[k] = a
}
