package sctp

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/pace"
)

// maxUnacknowledged is how many bytes of a stream may be unacknowledged. Beyond it, there is room
// again when half of them are acknowledged.
const maxUnacknowledged = 1 << 20

// llp carries the segments of a session. Each segment is a message, which SCTP copies, so there is
// no batch.
type llp struct {
	*Conn

	// These belong to the goroutine that receives. taken is what it took from the session; delivers
	// is the index of the next one to deliver.
	taken    []*held
	delivers int
	unplaced []*held
	to       [][]byte
	gaps     pace.Pace
	watched  bool // something is incomplete: a message, or the order of messages
	message  uint64
	tick     *time.Timer

	message0 []byte // buffer of the message being sent
	most     int    // the maximum segment, as last returned

	// Conn.mu guards these.
	interrupted bool
	resumed     bool
	ticked      bool
}

// LLP returns the session as a ddp.LLP, when the startup is over. After stall, a peer has stalled
// that leaves something incomplete or does not acknowledge what is sent.
func (c *Conn) LLP(stall time.Duration) ddp.LLP {
	l := &llp{Conn: c, gaps: pace.New(stall), message0: make([]byte, room, messageSize)}
	l.tick = time.AfterFunc(time.Hour, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		l.ticked = true
		c.changed.Broadcast()
	})
	l.tick.Stop()
	_ = c.SetDeadline(time.Time{})
	l.MaxSegment()
	return l
}

// MaxSegment returns what fits in a packet on the path now. It is at least what a session control
// message may need (RFC 5043 section 9).
func (l *llp) MaxSegment() int {
	l.most = l.a.lower.MaxMessage()
	if !l.a.cfg.Draft {
		l.most -= ssnLen
	}
	return l.most
}

// Receive waits for segments. It hands those in order to sink, and puts the payload of early ones
// into place.
func (l *llp) Receive(sink ddp.Sink) error {
	if l.delivers == len(l.taken) {
		if err := l.fetch(sink); err != nil {
			return err
		}
	}
	for _, h := range l.unplaced {
		l.place(sink, h)
	}
	l.unplaced = l.unplaced[:0]
	freed := 0
	defer func() { // even if the sink does not return
		l.mu.Lock()
		defer l.mu.Unlock()
		l.free(freed)
		l.changed.Broadcast() // there is room again
	}()
	for l.delivers < len(l.taken) {
		h := l.taken[l.delivers]
		var err error
		if h.placed {
			n := headerLenOf(h.data)
			err = sink.Placed(h.data[:n], len(h.data)-n)
		} else {
			err = sink.Segment(h.data)
		}
		if err == ddp.ErrHold {
			return err
		}
		l.taken[l.delivers] = nil
		l.delivers++
		freed += h.size()
		h.release()
		if err != nil {
			return err
		}
	}
	return nil
}

// headerLenOf returns the length of the header of a tagged segment, and of others the whole length.
func headerLenOf(segment []byte) int {
	if h, payload, err := ddp.Parse(segment); err == nil && h.Tagged {
		return len(segment) - len(payload)
	}
	return len(segment)
}

// place puts the payload of an early segment into place, if the sink lends the memory.
func (l *llp) place(sink ddp.Sink, h *held) {
	n := headerLenOf(h.data)
	payload := h.data[n:]
	if len(payload) == 0 || h.placed {
		return
	}
	to, ok := sink.Lend(l.to[:0], h.data[:n], len(payload), 0)
	if ok {
		for _, b := range to {
			payload = payload[copy(b, payload):]
		}
		h.placed = true
		sink.Return()
	}
	l.to = to[:0]
}

// fetch takes what has come, waiting if nothing has.
func (l *llp) fetch(sink ddp.Sink) error {
	c := l.Conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.ready) == 0 && len(c.unplaced) == 0 {
		switch {
		case l.interrupted:
			return os.ErrDeadlineExceeded
		case c.err != nil:
			return c.err
		case c.last:
			return io.EOF
		}
		if l.stalled(sink) {
			return ddp.ErrStalled
		}
		c.changed.Wait()
	}
	l.taken, c.ready = c.ready, l.taken[:0]
	l.unplaced, c.unplaced = c.unplaced, l.unplaced
	l.delivers = 0
	return nil
}

// stalled checks what is incomplete, before a wait; c.mu is held.
func (l *llp) stalled(sink ddp.Sink) bool {
	message, moved := sink.Unfinished()
	moved += l.received
	incomplete := message != 0 || len(l.early) > 0
	switch {
	case !incomplete:
		if l.watched {
			l.tick.Stop()
		}
		l.watched, l.ticked = false, false
		return false
	case !l.watched || message != l.message:
		l.watched, l.message = true, message
		l.gaps.Begin(moved)
	case !l.ticked:
		return false
	case l.gaps.Ticked(moved):
		return true
	}
	l.ticked = false
	l.tick.Reset(l.gaps.Tick)
	return false
}

// Hold waits until Resume or Interrupt, or until the peer ends the session.
func (l *llp) Hold() error {
	c := l.Conn
	c.mu.Lock()
	defer c.mu.Unlock()
	for !l.resumed {
		switch {
		case l.interrupted:
			return nil
		case c.err != nil:
			return c.err
		case c.last:
			return io.EOF
		}
		c.changed.Wait()
	}
	l.resumed = false
	return nil
}

// Resume ends Hold.
func (l *llp) Resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.resumed = true
	l.changed.Broadcast()
}

// errLong: a segment is longer than MaxSegment said (RFC 5043 section 9).
var errLong = errors.New("segment too long for the path")

// Append sends a segment if there is room. After the end of the session it drops it.
func (l *llp) Append(header []byte, p *ddp.Payload, n int, _ transport.STag) bool {
	b := append(l.message0[:room], header...)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case !l.hasRoom():
		return false
	case l.err != nil:
		return true
	case len(header)+n > l.most:
		l.err = errLong
		return true
	}
	for n > 0 {
		next := p.Next(n)
		n -= len(next)
		b = append(b, next...)
	}
	ppid := uint32(ppidSegment)
	if l.a.cfg.Draft {
		ppid = ppidDraftSegment
	}
	_ = l.send(ppid, b) // if the association has ended, lost will say why
	return true
}

// hasRoom reports whether more may be sent; c.mu is held.
func (l *llp) hasRoom() bool {
	acknowledged := l.acknowledged()
	return l.err != nil || l.sent-acknowledged < maxUnacknowledged && acknowledged >= l.marks[0]
}

// Flush reports whether there is room for more.
func (l *llp) Flush() (empty bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.hasRoom(), l.err
}

// Wait waits until the peer has acknowledged half of what is in flight.
func (l *llp) Wait(sync.Locker) (empty bool, err error) {
	watch := pace.New(l.gaps.Tick * pace.Ticks)
	tick := time.NewTicker(watch.Tick)
	defer tick.Stop()
	defer l.wake() // finish may wait for another amount
	for first := true; ; first = false {
		l.mu.Lock()
		acknowledged, has, interrupted := l.acknowledged(), l.hasRoom(), l.interrupted
		below := min(maxUnacknowledged/2, max(l.sent-l.marks[0], 1))
		err := l.err
		l.mu.Unlock()
		switch {
		case err != nil:
			return false, err
		case has:
			return true, nil
		case interrupted:
			return false, os.ErrDeadlineExceeded
		case first:
			watch.Begin(acknowledged)
		}
		l.a.lower.Acknowledged(l.id, below, l.wake)
		if l.a.lower.Unacknowledged(l.id) < below {
			continue
		}
		select {
		case <-l.acked:
		case <-tick.C:
			if watch.Ticked(acknowledged) {
				return false, ddp.ErrStalled
			}
		case <-l.a.over:
		}
	}
}

// Detach does nothing: nothing refers to the payload.
func (l *llp) Detach(transport.STag) {}

// Cut does nothing: there is no batch.
func (l *llp) Cut(bool) {}

// Interrupt ends Receive, Hold and Wait. Close will follow.
func (l *llp) Interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interrupted = true
	l.ends()
	l.changed.Broadcast()
	l.wake()
}

// closeTimeout is how long Close waits for the peer.
const closeTimeout = 5 * time.Second

// Close ends the session, when nobody is in Receive. If orderly, it waits until the peer has
// acknowledged everything.
func (l *llp) Close(orderly bool) {
	l.tick.Stop()
	_ = l.Conn.Close()
	l.mu.Lock()
	for ; l.delivers < len(l.taken); l.delivers++ {
		l.free(l.taken[l.delivers].size())
	}
	l.mu.Unlock()
	if !orderly {
		return
	}
	t := time.NewTimer(closeTimeout)
	defer t.Stop()
	select {
	case <-l.finished:
	case <-t.C:
	}
}

// Traffic returns the bytes of messages sent and received.
func (l *llp) Traffic() (sent, received uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return uint64(l.sent), uint64(l.received)
}
