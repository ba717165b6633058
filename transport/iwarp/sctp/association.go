package sctp

import (
	"errors"
	"io"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// association is an SCTP association for DDP, with its streams. Each stream has one session at a
// time (RFC 5043 section 6).
type association struct {
	cfg           *Config
	host          peerhost.Host // of the peer
	lower         lower.Association
	local, remote Addr
	offer         func(*Conn) bool // takes a session that the peer asks for; false: no room
	ended         func()           // called when the association has ended; may be nil

	mu       sync.Mutex // guards what follows
	sessions map[uint16]*Conn
	unended  int      // sessions that this side is not ending
	live     int      // sessions whose end the peer has not acknowledged
	draining bool     // it ends with the last live session
	fresh    int      // streams from this id on were never used
	free     []uint16 // used streams that may be used again
	err      error    // why the association has ended

	owed atomic.Int64  // bytes of a message that is kept without being reserved
	gone atomic.Bool   // it has ended: nothing waits for consumers
	over chan struct{} // closed when nothing is left of it

	order *tsnOrder // in the draft
}

// newAssociation takes over an SCTP association. Offer is nil if the peer may not ask for sessions.
func newAssociation(cfg *Config, l lower.Association, local, remote Addr, offer func(*Conn) bool,
	ended func()) *association {
	a := &association{
		cfg: cfg, host: hostOf(remote.IP), lower: l, local: local, remote: remote, offer: offer, ended: ended,
		sessions: make(map[uint16]*Conn), over: make(chan struct{}),
	}
	if cfg.Draft {
		a.order = newTSNOrder(l.FirstTSN())
	}
	atomic.AddUint64(&cfg.Counters.stats.Associations, 1)
	go a.run()
	go a.watch()
	if offer != nil {
		go a.awaitSession()
	}
	return a
}

// run takes messages until the association ends.
func (a *association) run() {
	b := new([messageSize]byte)
	for {
		m, err := a.lower.Receive(b[:])
		if err != nil {
			a.end(err)
			return
		}
		a.message(&m)
		a.giveBack(m.Reserved)
	}
}

// watch waits until the association ends. Then it wakes up run, which may wait for a consumer.
func (a *association) watch() {
	a.lower.Watch(a.over)
	a.gone.Store(true)
	a.mu.Lock()
	all := slices.Collect(maps.Values(a.sessions))
	a.mu.Unlock()
	for _, c := range all {
		c.mu.Lock()
		c.changed.Broadcast()
		c.mu.Unlock()
	}
}

// messageSize is the size of the buffer for a message. Larger messages are rare.
const messageSize = maxMTU

// message takes a message.
func (a *association) message(m *lower.Message) {
	a.mu.Lock()
	c := a.sessions[m.Stream]
	a.mu.Unlock()
	if c == nil || a.offer != nil && c.succeeded() {
		c = a.begin(m.Stream)
	}
	switch {
	case a.order != nil:
		a.order.take(c, m)
	case c != nil:
		c.take(m)
	}
}

// begin begins a session that the peer asks for. It returns nil if it cannot.
func (a *association) begin(id uint16) *Conn {
	a.mu.Lock()
	if a.err != nil || a.offer == nil || int(id) >= a.lower.Streams() {
		a.mu.Unlock()
		return nil
	}
	c := a.session(id, false)
	a.mu.Unlock()
	if a.order != nil {
		c.beginDraft()
	}
	return c
}

// session begins a session on a stream; a.mu is held.
func (a *association) session(id uint16, active bool) *Conn {
	c := newConn(a, id, active)
	a.sessions[id] = c
	a.unended++
	a.live++
	return c
}

// open begins a session as the side that asks. It prefers a stream that was never used (draft
// section 7.2).
func (a *association) open() (*Conn, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.err != nil:
		return nil, a.err
	case a.fresh < a.lower.Streams():
		a.fresh++
		return a.session(uint16(a.fresh-1), true), nil
	case len(a.free) > 0:
		id := a.free[0]
		a.free = a.free[1:]
		return a.session(id, true), nil
	}
	return nil, ErrNoStream
}

// closing notes that this side is ending a session.
func (a *association) closing() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unended--
}

// idle reports whether this side has ended all sessions, or is ending them.
func (a *association) idle() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.unended == 0
}

// reserve takes memory to keep a message: what is reserved for that already, and the rest from the
// share of the peer's host. It reports false if that is used up.
func (a *association) reserve(m *lower.Message, n int) bool {
	had := min(m.Reserved, n)
	if had < n && !a.cfg.memory.Take(a.host, int64(n-had)) {
		return false
	}
	m.Reserved -= had
	return true
}

// owe lets a message be kept for which there is no memory, if nothing is owed so far. So what waits
// for it can go on. The next memory that is given back pays.
func (a *association) owe(m *lower.Message, n int) bool {
	if !a.owed.CompareAndSwap(0, int64(n-m.Reserved)) {
		return false
	}
	m.Reserved = 0
	return true
}

// giveBack returns memory that was reserved, or is owed.
func (a *association) giveBack(n int) {
	for owed := a.owed.Load(); owed > 0; owed = a.owed.Load() {
		if pays := min(owed, int64(n)); a.owed.CompareAndSwap(owed, owed-pays) {
			n -= int(pays)
			break
		}
	}
	if n > 0 {
		a.cfg.memory.Give(a.host, int64(n))
	}
}

// alone reports whether there is no other session to hold up.
func (a *association) alone() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.live <= 1
}

// rest notes that this side has ended a session and the peer has acknowledged everything. The
// association of a dialer ends with its last session.
func (a *association) rest() {
	a.mu.Lock()
	a.live--
	last, ends := a.live == 0 && a.err == nil, a.offer == nil || a.draining
	a.mu.Unlock()
	switch {
	case !last:
	case ends:
		a.shutdown()
	default:
		go a.awaitSession()
	}
}

// release notes that a session is over on both sides, so that its stream is free.
func (a *association) release(c *Conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[c.id] == c {
		delete(a.sessions, c.id)
		if a.offer == nil {
			a.free = append(a.free, c.id)
		}
	}
}

// drain makes the association end with its last session.
func (a *association) drain() {
	a.mu.Lock()
	a.draining = true
	idle := a.live == 0
	a.mu.Unlock()
	if idle {
		a.shutdown()
	}
}

// shutdown ends an association without live sessions. The side that made it uses SHUTDOWN; the
// other one, only if it must end it, uses ABORT.
func (a *association) shutdown() {
	a.mu.Lock()
	again := a.err != nil
	if !again {
		a.err = errClosed
	}
	a.mu.Unlock()
	switch {
	case again:
	case a.offer == nil:
		go a.lower.Shutdown()
	default:
		go a.lower.Abort("no sessions")
	}
}

// awaitSession ends the association if the peer begins no session for SetupTimeout.
func (a *association) awaitSession() {
	t := time.NewTimer(a.cfg.SetupTimeout)
	defer t.Stop()
	select {
	case <-a.over:
	case <-t.C:
		a.mu.Lock()
		idle := a.live == 0
		a.mu.Unlock()
		if idle {
			a.shutdown()
		}
	}
}

// end tells all sessions that the association has ended (RFC 5043 section 11.3).
func (a *association) end(err error) {
	a.mu.Lock()
	if a.err == nil {
		a.err = err
		// A listener that closes aborts an association as soon as it has no session left. Then the
		// acknowledgement of this side's last message may be under way.
		var abort *AbortError
		closed := errors.As(err, &abort) && a.unended == 0
		if err != io.EOF && !errors.Is(err, errClosed) && !closed {
			atomic.AddUint64(&a.cfg.Counters.stats.Lost, 1)
		}
	}
	err = a.err
	var all []*Conn
	for _, c := range a.sessions {
		all = append(all, c)
	}
	clear(a.sessions)
	a.mu.Unlock()
	if a.order != nil {
		a.order.end()
	}
	for _, c := range all {
		c.lost(err)
	}
	a.lower.Abort("")
	if a.ended != nil {
		a.ended()
	}
	close(a.over)
}
