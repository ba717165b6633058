package users

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// Limits of a cache. Linux's mountd lets the kernel keep groups for half an hour too.
const (
	knownTime   = 30 * time.Minute // how long an answer is kept
	unknownTime = time.Minute      // how long it is kept that there is no such user
	goneTime    = time.Hour        // how old an answer may be that outlives its user
	retryTime   = time.Minute      // how long an old answer holds before the next look-up
	waitTime    = 5 * time.Second  // how long callers wait for a look-up
	maxUses     = 16384            // answers kept, each counted for every host that uses it
	maxLookups  = 64               // look-ups under way
	maxTurns    = 8                // of these, calls of the database
	lookupReads = 200              // as many reads of small calls cost as much as getent(1): 3 ms
)

// Errors of look-ups.
var (
	errSlow = errors.New("the user database does not answer")
	errBusy = errors.New("too many look-ups for this host, or for all, wait for the user database")
)

// cache keeps the answers of a function that may block for any time. If a look-up fails, the last
// answer holds: without a group, a user is refused what it may do, and gets what it may not.
//
// Hosts share the look-ups, their turns and the room for answers (package fair), and pay for their
// look-ups as if they had sent calls. An answer stays while a host uses it. So a host that asks for
// users whom nobody has makes others forget nothing.
type cache[K comparable, V any] struct {
	// lookup returns the answer. If there is none, missing says why. If that cannot be known now,
	// err says why. There is never more than one call for a key.
	lookup func(K) (v V, missing, err error)
	// missed is called when the zero V is taken for the answer, because there is none.
	missed  func(peer net.Addr, k K, why error)
	log     *faultlog.Log
	lookups *fair.Shares // of maxLookups
	turns   *budget.Budget[turn]

	mu      sync.Mutex // guards what follows
	known   map[K]*answer[V]
	uses    uses[K] // of known
	pending map[K]*pending[V]
}

// answer is an answer that holds until some time. After that it holds only for want of another.
type answer[V any] struct {
	value V
	found bool
	at    time.Time // when it was given
	until time.Time
	hosts int // that use it
}

// turn is a look-up that waits for its turn, which closes it.
type turn chan struct{}

// pending is a look-up under way.
type pending[V any] struct {
	slowAt time.Time     // when callers stop waiting
	done   chan struct{} // closed when value and err are set
	value  V
	err    error
}

func newCache[K comparable, V any](
	log *slog.Logger, lookup func(K) (v V, missing, err error), missed func(net.Addr, K, error),
) *cache[K, V] {
	return &cache[K, V]{
		lookup: lookup, missed: missed, log: faultlog.New(log), lookups: fair.New(maxLookups),
		turns: budget.New[turn](maxTurns),
		known: make(map[K]*answer[V]), uses: newUses[K](maxUses), pending: make(map[K]*pending[V]),
	}
}

// get returns the answer for k to a peer's host. It waits for it until ctx ends or the look-up has
// taken waitTime. After that no call waits, because each occupies a worker. If the look-up fails,
// is late or cannot begin, get returns the last answer, or without one an error.
func (c *cache[K, V]) get(ctx context.Context, peer net.Addr, k K) (V, error) {
	host := peerhost.Of(peer)
	c.mu.Lock()
	var last answer[V]
	if a := c.known[k]; a != nil {
		c.use(host, k, a)
		if last = *a; time.Now().Before(last.until) {
			c.mu.Unlock()
			return last.value, nil
		}
	}
	p := c.pending[k]
	if p == nil && c.lookups.Take(host, 1) {
		p = &pending[V]{slowAt: time.Now().Add(waitTime), done: make(chan struct{})}
		c.pending[k] = p
		go c.look(peer, k, p)
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

// look looks up k, for all callers that wait for it. The first of them is peer.
func (c *cache[K, V]) look(peer net.Addr, k K, p *pending[V]) {
	host := peerhost.Of(peer)
	v, missing, err := c.ask(host, k)
	now := time.Now()
	c.mu.Lock()
	var last answer[V]
	if a := c.known[k]; a != nil {
		last = *a
	}
	// The C library does not tell a database that is down from one without the user.
	gone := missing != nil && now.Sub(last.at) >= goneTime
	keeps := last.found && cmp.Or(err, missing) != nil && !gone
	switch {
	case keeps:
		last.until = now.Add(retryTime)
		p.value = last.value
		c.keep(host, k, last)
	case err != nil:
		p.err = err
	case missing != nil:
		c.keep(host, k, answer[V]{until: now.Add(unknownTime)})
	default:
		p.value = v
		c.keep(host, k, answer[V]{value: v, found: true, at: now, until: now.Add(knownTime)})
	}
	delete(c.pending, k)
	c.lookups.Give(host, 1)
	c.mu.Unlock()
	switch {
	case keeps:
		c.keeps(k, cmp.Or(err, missing))
	case missing != nil:
		c.missed(peer, k, missing)
	}
	close(p.done)
}

// ask calls lookup when it is the turn of a host, which is charged for that.
func (c *cache[K, V]) ask(host peerhost.Host, k K) (v V, missing, err error) {
	reader := fair.ThisProcess.Join(host)
	defer reader.Leave()
	reader.Charge(lookupReads)
	var (
		share budget.Share[turn]
		wait  budget.Request[turn]
		mine  = make(turn)
	)
	c.turns.Join(&share, host, 1)
	if !share.Reserve(&wait, &mine, 1) {
		<-mine
	}
	defer func() {
		next := share.Release(1, 0)
		_, more := share.Leave()
		for _, t := range append(next, more...) {
			close(*t)
		}
	}()
	return c.lookup(k)
}

// keep keeps an answer, which a host uses.
func (c *cache[K, V]) keep(host peerhost.Host, k K, a answer[V]) {
	known := c.known[k]
	if known == nil {
		known = new(answer[V])
		c.known[k] = known
	}
	a.hosts = known.hosts
	*known = a
	c.use(host, k, known)
}

// use notes that a host uses a known answer. It forgets the answer that nobody uses any more.
func (c *cache[K, V]) use(host peerhost.Host, k K, a *answer[V]) {
	added, left, leaves := c.uses.add(host, k)
	if added {
		a.hosts++
	}
	if !leaves {
		return
	}
	if a := c.known[left]; a.hosts == 1 {
		delete(c.known, left)
	} else {
		a.hosts--
	}
}

// keeps logs that the last answer holds for k, for want of another.
func (c *cache[K, V]) keeps(k K, why error) {
	c.log.Failure("nfs: a look-up in the user database failed, and its last answer holds",
		unanswered{}, "user", k, "err", why)
}

// unanswered is the key of a message that is logged once a minute.
type unanswered struct{}
