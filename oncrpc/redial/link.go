package redial

import (
	"errors"
	"math"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// link is one connection.
type link struct {
	conn    oncrpc.Transport
	credits oncrpc.CreditReporter // nil: it does not tell
	born    time.Time
	calls   atomic.Int32  // under way
	replies atomic.Uint32 // that have come
	retired atomic.Bool   // gets no more calls, and is closed when it has none
	stalled atomic.Bool   // was closed because no replies came

	// Stalls are found by a timer that ticks while calls are under way, or have been given up and
	// have their credits still. Nothing of it is a call's.
	tick    time.Duration
	ticking atomic.Bool

	mu      sync.Mutex  // guards what follows
	timer   *time.Timer // nil: not needed yet
	over    bool
	seen    uint32 // replies at the last tick
	quiet   int    // ticks in a row without any
	empty   bool   // there was no call under way at the last tick
	givenUp int    // the most calls given up that can have their credits still
	lost    lostCalls
}

// lostCalls are calls that were given up in a row, without any answer of the peer's between them.
type lostCalls struct {
	n     int
	since time.Time // of the first
	seen  uint32    // replies then
}

// lostStall is the number of calls given up in a row that make a stall, if they have been so for
// long enough: the timer does not see calls that are shorter than its ticks.
const lostStall = 3

// stallTicks is the number of full ticks that make a stall.
const stallTicks = 8

func newLink(conn oncrpc.Transport, stall time.Duration) *link {
	l := &link{conn: conn, born: time.Now(), tick: stall / stallTicks}
	l.credits, _ = conn.(oncrpc.CreditReporter)
	l.ticking.Store(l.tick <= 0) // then it never begins to
	return l
}

// load returns the number of calls that use a credit or wait for one, those that were given up
// included, and how many more could be under way. With none left, or less, the connection is
// starved: a further call would wait. One that does not tell of its credits never is, and has as
// many calls as are under way.
func (l *link) load() (n, left int) {
	n = int(l.calls.Load())
	if l.credits == nil {
		return n, math.MaxInt
	}
	grant, inUse, waiting := l.credits.Credits()
	// A call that has just been entered may not have come to its connection yet.
	n = max(n, inUse+waiting)
	return n, max(1, grant) - n
}

// enter begins a call. It returns how many are under way.
func (l *link) enter() int32 {
	n := l.calls.Add(1)
	if !l.ticking.Load() {
		l.watch()
	}
	return n
}

// leave ends a call.
func (l *link) leave() {
	if l.calls.Add(-1) == 0 && l.retired.Load() {
		l.conn.Close()
	}
}

// giveUp notes that a call, which has not left yet, was given up and may have its credit still.
func (l *link) giveUp() {
	l.mu.Lock()
	stalled := l.lose()
	if l.credits != nil {
		l.givenUp++
	}
	l.mu.Unlock()
	switch {
	case stalled:
		l.close()
	case l.credits != nil && !l.ticking.Load():
		l.watch()
	}
}

// lose counts a call that was given up, and reports whether so many have been in a row, for so
// long, that the peer must be taken for dead; l.mu is held.
func (l *link) lose() (stalled bool) {
	c := &l.lost
	alive := c.seen != l.replies.Load()
	if l.credits != nil {
		_, inUse, _ := l.credits.Credits()
		alive = alive || inUse <= c.n // a credit has come back: this call has one, too
	}
	if c.n == 0 || alive {
		*c = lostCalls{since: time.Now(), seen: l.replies.Load()}
	}
	c.n++
	return l.tick > 0 && c.n >= lostStall && time.Since(c.since) >= stallTicks*l.tick
}

// close ends a connection that is stalled.
func (l *link) close() {
	l.stalled.Store(true)
	l.conn.Close()
}

// starved reports whether all credits may be those of calls that were given up; l.mu is held.
func (l *link) starved() bool {
	if l.givenUp == 0 {
		return false
	}
	grant, inUse, _ := l.credits.Credits()
	l.givenUp = min(l.givenUp, inUse) // the others have been answered
	return l.givenUp >= max(1, grant)
}

// ended reports whether err, which a call returned, says that the connection has ended or is about
// to.
func (l *link) ended(err error) bool {
	if errors.Is(err, net.ErrClosed) || l.conn.Err() != nil {
		return true
	}
	// of a socket that cannot be written to, but may still be read
	_, network := errors.AsType[*net.OpError](err)
	return network
}

// watch has the timer tick.
func (l *link) watch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || l.ticking.Load() {
		return
	}
	l.ticking.Store(true)
	l.seen, l.quiet, l.empty = l.replies.Load(), 0, false
	if l.timer == nil {
		l.timer = time.AfterFunc(l.tick, l.check)
	} else {
		l.timer.Reset(l.tick)
	}
}

// check is called at each tick. The first of a row without replies may be shorter than a tick for
// the calls that are under way, and does not count.
func (l *link) check() {
	l.mu.Lock()
	if l.over {
		l.mu.Unlock()
		return
	}
	empty := l.calls.Load() == 0
	starved := l.starved()
	if empty && l.givenUp == 0 {
		l.ticking.Store(false)
		l.mu.Unlock()
		if l.calls.Load() > 0 { // since, and has seen it ticking
			l.watch()
		}
		return
	}
	// Between ticks without calls, a credit that has come back is a sign of life, too.
	n := l.replies.Load()
	if n != l.seen || (empty || l.empty) && !starved {
		l.seen, l.quiet = n, 0
	} else {
		l.quiet++
	}
	l.empty = empty
	stalled := l.quiet > stallTicks
	if !stalled {
		l.timer.Reset(l.tick)
	}
	l.mu.Unlock()
	if stalled {
		l.close()
	}
}

// stop ends the watch, with the connection.
func (l *link) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
}
