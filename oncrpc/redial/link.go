package redial

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// link is one connection.
type link struct {
	conn    oncrpc.Transport
	born    time.Time
	calls   atomic.Int32  // under way
	replies atomic.Uint32 // that have come
	retired atomic.Bool   // gets no more calls, and is closed when it has none
	stalled atomic.Bool   // was closed because no replies came

	// Stalls are found by a timer that ticks while calls are under way. Nothing of it is a call's.
	tick    time.Duration
	ticking atomic.Bool

	mu    sync.Mutex  // guards what follows
	timer *time.Timer // nil: not needed yet
	over  bool
	seen  uint32 // replies at the last tick
	quiet int    // ticks in a row without any
}

// stallTicks is the number of full ticks that make a stall.
const stallTicks = 8

func newLink(conn oncrpc.Transport, stall time.Duration) *link {
	l := &link{conn: conn, born: time.Now(), tick: stall / stallTicks}
	l.ticking.Store(l.tick <= 0) // then it never begins to
	return l
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

// ended reports whether err, which a call returned, says that the connection has ended or is about to.
func (l *link) ended(err error) bool {
	if errors.Is(err, net.ErrClosed) || l.conn.Err() != nil {
		return true
	}
	_, network := errors.AsType[*net.OpError](err) // of a socket that cannot be written to, but may still be read
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
	l.seen, l.quiet = l.replies.Load(), 0
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
	if l.calls.Load() == 0 {
		l.ticking.Store(false)
		l.mu.Unlock()
		if l.calls.Load() > 0 { // since, and has seen it ticking
			l.watch()
		}
		return
	}
	if n := l.replies.Load(); n != l.seen {
		l.seen, l.quiet = n, 0
	} else {
		l.quiet++
	}
	stalled := l.quiet > stallTicks
	if !stalled {
		l.timer.Reset(l.tick)
	}
	l.mu.Unlock()
	if stalled {
		l.stalled.Store(true)
		l.conn.Close()
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
