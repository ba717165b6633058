package redial

import (
	"errors"
	"math"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// link is one connection.
type link struct {
	conn    oncrpc.Transport
	credits oncrpc.CreditReporter // nil if conn is none
	number  uint64                // in the order in which connections were made
	from    netip.AddrPort        // by which the peer knows its caller; zero: by the host
	born    time.Time
	pause   time.Duration // before it is replaced; Conn.mu guards it
	calls   atomic.Int32  // pending
	replies atomic.Uint32 // received
	retired atomic.Bool   // gets no more calls, and is closed when none is pending
	stalled atomic.Bool   // closed because no replies came

	// A timer finds stalls. It ticks while calls are pending, or while abandoned calls may still
	// use credits. No timer is needed for each call.
	tick    time.Duration
	ticking atomic.Bool

	mu      sync.Mutex  // guards the fields below
	timer   *time.Timer // nil until first needed
	over    bool        // the connection has ended
	seen    uint32      // replies at the last tick
	quiet   int         // ticks in a row without replies
	empty   bool        // no call was pending at the last tick
	givenUp int         // upper limit of abandoned calls that still use credits
	lost    lostCalls
}

// lostCalls counts calls that were abandoned in a row, without a reply of the peer in between.
type lostCalls struct {
	n     int
	since time.Time // when the first was abandoned
	seen  uint32    // link.replies at that time
}

// lostStall is how many calls abandoned in a row make a stall, if they span enough time. The timer
// cannot see calls that are shorter than its ticks.
const lostStall = 3

// stallTicks is the number of full ticks that make a stall.
const stallTicks = 8

func newLink(conn oncrpc.Transport, number uint64, stall time.Duration) *link {
	l := &link{conn: conn, number: number, born: time.Now(), tick: stall / stallTicks}
	l.credits, _ = conn.(oncrpc.CreditReporter)
	if p, ok := conn.(oncrpc.PortCaller); ok {
		l.from = p.CallsFrom()
	}
	l.ticking.Store(l.tick <= 0) // without a limit, the timer never starts
	return l
}

// follows reports whether the peer knows a repeated call with Once, which left over before, for a
// copy if it comes over l. It does so over connections of the same origin that are newer: the first
// copy may still arrive, and must then come from the older connection of the two.
func (l *link) follows(before *link) bool {
	return before == nil || l.from == before.from && l.number > before.number
}

// load returns the number of calls that use a credit or wait for one, including abandoned ones, and
// how many more may be pending. If none are left, the connection is starved: another call would
// wait. If the connection does not report its credits, load returns its pending calls, and it is
// never starved.
func (l *link) load() (n, left int) {
	n = int(l.calls.Load())
	if l.credits == nil {
		return n, math.MaxInt
	}
	grant, inUse, waiting := l.credits.Credits()
	// A call just entered may not have reached its connection yet.
	n = max(n, inUse+waiting)
	return n, max(1, grant) - n
}

// enter begins a call and returns how many are pending.
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

// giveUp notes that a call was abandoned before leave, and may still use its credit.
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

// lose counts an abandoned call. It reports whether so many were abandoned in a row, for so long,
// that the peer counts as dead; l.mu is held.
func (l *link) lose() (stalled bool) {
	c := &l.lost
	alive := c.seen != l.replies.Load()
	if l.credits != nil {
		_, inUse, _ := l.credits.Credits()
		alive = alive || inUse <= c.n // a credit has come back, since this call uses one, too
	}
	if c.n == 0 || alive {
		*c = lostCalls{since: time.Now(), seen: l.replies.Load()}
	}
	c.n++
	return l.tick > 0 && c.n >= lostStall && time.Since(c.since) >= stallTicks*l.tick
}

// close ends a stalled connection.
func (l *link) close() {
	l.stalled.Store(true)
	l.conn.Close()
}

// starved reports whether abandoned calls may use all credits; l.mu is held.
func (l *link) starved() bool {
	if l.givenUp == 0 {
		return false
	}
	grant, inUse, _ := l.credits.Credits()
	l.givenUp = min(l.givenUp, inUse) // the others have been answered
	return l.givenUp >= max(1, grant)
}

// ended reports whether err, the error of a call, says that the connection has ended or is about
// to.
func (l *link) ended(err error) bool {
	if errors.Is(err, net.ErrClosed) || l.conn.Err() != nil {
		return true
	}
	// a socket that cannot be written, but may still be readable
	_, network := errors.AsType[*net.OpError](err)
	return network
}

// watch starts the timer.
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

// check is called at each tick. The first tick of a series without replies does not count, because
// calls may have begun in the middle of it.
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
		if l.calls.Load() > 0 { // a call began meanwhile and saw the timer running
			l.watch()
		}
		return
	}
	// Between ticks without calls, a returned credit is a sign of life, too.
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

// stop stops the timer when the connection has ended.
func (l *link) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	if l.timer != nil {
		l.timer.Stop()
	}
}
