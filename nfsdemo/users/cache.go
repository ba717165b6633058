package users

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
)

// Limits of a cache. Linux's mountd lets the kernel keep groups for half an hour too.
const (
	knownTime   = 30 * time.Minute // how long an answer is kept
	unknownTime = time.Minute      // how long it is kept that there is no such user
	goneTime    = time.Hour        // how old an answer may be that outlives its user
	retryTime   = time.Minute      // how long an old answer holds before the next look-up
	waitTime    = 5 * time.Second  // how long callers wait for a look-up
	maxKnown    = 4096             // answers kept
	maxLookups  = 64               // look-ups under way
)

// Errors of look-ups.
var (
	errSlow = errors.New("the user database does not answer")
	errBusy = errors.New("the user database does not answer, and too many look-ups wait for it already")
)

// cache keeps the answers of a function that may block for any time. If a look-up fails, the last
// answer holds: without a group, a user is refused what it may do, and gets what it may not.
type cache[K comparable, V any] struct {
	// lookup returns the answer. If there is none, missing says why. If that cannot be known now,
	// err says why. There is never more than one call for a key.
	lookup func(K) (v V, missing, err error)
	// missed is called when the zero V is taken for the answer, because there is none.
	missed func(k K, why error)
	log    *faultlog.Log

	mu      sync.Mutex // guards what follows
	known   map[K]answer[V]
	pending map[K]*pending[V]
}

// answer is an answer that holds until some time. After that it holds only for want of another.
type answer[V any] struct {
	value V
	found bool
	at    time.Time // when it was given
	until time.Time
}

// pending is a look-up under way.
type pending[V any] struct {
	slowAt time.Time     // when callers stop waiting
	done   chan struct{} // closed when value and err are set
	value  V
	err    error
}

func newCache[K comparable, V any](
	log *slog.Logger, lookup func(K) (v V, missing, err error), missed func(K, error),
) *cache[K, V] {
	return &cache[K, V]{
		lookup: lookup, missed: missed, log: faultlog.New(log),
		known: make(map[K]answer[V]), pending: make(map[K]*pending[V]),
	}
}

// get returns the answer for k. It waits for it until ctx ends or the look-up has taken waitTime.
// After that no call waits, because each occupies a worker. If the look-up fails or is late, get
// returns the last answer, or without one an error.
func (c *cache[K, V]) get(ctx context.Context, k K) (V, error) {
	c.mu.Lock()
	last, ok := c.known[k]
	if ok && time.Now().Before(last.until) {
		c.mu.Unlock()
		return last.value, nil
	}
	p := c.pending[k]
	if p == nil && len(c.pending) < maxLookups {
		p = &pending[V]{slowAt: time.Now().Add(waitTime), done: make(chan struct{})}
		c.pending[k] = p
		go c.look(k, p)
	}
	c.mu.Unlock()
	v, err := p.wait(ctx)
	if err != nil && last.found && ctx.Err() == nil {
		c.keeps(k, err)
		return last.value, nil
	}
	return v, err
}

// wait waits for the answer. Nil is a look-up that could not begin.
func (p *pending[V]) wait(ctx context.Context) (v V, err error) {
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
	v, missing, err := c.lookup(k)
	now := time.Now()
	c.mu.Lock()
	a := c.known[k]
	// The C library does not tell a database that is down from one without the user.
	gone := missing != nil && now.Sub(a.at) >= goneTime
	keeps := a.found && cmp.Or(err, missing) != nil && !gone
	switch {
	case keeps:
		a.until = now.Add(retryTime)
		c.known[k] = a
		p.value = a.value
	case err != nil:
		p.err = err
	case missing != nil:
		c.keep(k, answer[V]{until: now.Add(unknownTime)})
	default:
		p.value = v
		c.keep(k, answer[V]{v, true, now, now.Add(knownTime)})
	}
	delete(c.pending, k)
	c.mu.Unlock()
	switch {
	case keeps:
		c.keeps(k, cmp.Or(err, missing))
	case missing != nil:
		c.missed(k, missing)
	}
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

// keeps logs that the last answer holds for k, for want of another.
func (c *cache[K, V]) keeps(k K, why error) {
	c.log.Failure("nfs: a look-up in the user database failed, and its last answer holds",
		unanswered{}, "user", k, "err", why)
}

// unanswered is the key of a message that is logged once a minute.
type unanswered struct{}
