package sctp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// Conn is a DDP stream session (RFC 5043 section 6): one side of it. It begins as a connection for
// package mpa to set up, with frames that travel as session control messages: see ReadFrame. From
// then on it is a ddp.LLP: see LLP. Of net.Conn it has addresses, deadlines for the startup, and
// Close.
type Conn struct {
	a      *association
	id     uint16
	active bool // this side asks for the session

	mu      sync.Mutex // guards what follows
	changed sync.Cond
	state   state
	err     error // why the session has ended, for this side

	// What the peer has sent: next is the DDP-SSN up to which all has come. In the draft it is the
	// association that has the order.
	next     uint16
	early    map[uint16]*held // what has come before others that are in front of it
	unplaced []*held          // of these, what the consumer has not seen
	ready    []*held          // for the consumer, in order
	memory   int              // of what is for the consumer, in order
	ahead    int              // and of what is not
	received int              // bytes, ever
	setup    []control        // messages of the setup, for ReadFrame
	last     bool             // the peer's last message has come
	deaf     bool             // whatever comes is ignored, since it makes no sense

	// What this side has sent.
	ssn      uint16        // of the next message
	sent     int           // bytes
	controls int           // sent, when the last control message had been
	marks    [3]int        // sent, when SSNs that were multiples of markEvery had been
	acked    chan struct{} // has llp.Wait look again
	allAcked chan struct{} // and finish: each may change what the other is told of

	said     bool          // the last that this side has to say has been sent
	ending   bool          // this side is about to close it
	closed   bool          // and has
	over     bool          // and the peer has all
	finished chan struct{} // closed when it is over
	deadline time.Time
	timer    *time.Timer
}

// state is where in the legal sequences a session is (RFC 5043 sections 6.2 to 6.4, RFC 6581
// section 7).
type state uint8

const (
	idle          state = iota // nothing has been said
	asked                      // Initiate has been sent, or has come
	askedEnhanced              // likewise Enhanced Initiate
	open                       // and Accept
	concluded                  // or Reject or Terminate
)

var _ net.Conn = (*Conn)(nil)

// markEvery is how many messages are between two marks. What is in front of the oldest mark has
// been acknowledged, so there are never more than three times as many and one that have not: fewer
// than 32,768 (RFC 5043 section 10).
const markEvery = 8 << 10

func newConn(a *association, id uint16, active bool) *Conn {
	c := &Conn{
		a: a, id: id, active: active, early: make(map[uint16]*held),
		acked: make(chan struct{}, 1), allAcked: make(chan struct{}, 1), finished: make(chan struct{}),
	}
	c.changed.L = &c.mu
	return c
}

// LocalAddr returns an Addr.
func (c *Conn) LocalAddr() net.Addr { return c.a.local }

// RemoteAddr returns an Addr.
func (c *Conn) RemoteAddr() net.Addr { return c.a.remote }

// Stream returns the id of the SCTP streams that the session is on.
func (c *Conn) Stream() uint16 { return c.id }

// Read waits until the session has ended, since nothing is read so.
func (c *Conn) Read([]byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.await(func() bool { return c.state == concluded }); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// Write fails, since nothing is written so.
func (c *Conn) Write([]byte) (int, error) {
	return 0, fmt.Errorf("sctp: write: %w", errors.ErrUnsupported)
}

// SetDeadline bounds the startup.
func (c *Conn) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
	if !t.IsZero() {
		c.timer = time.AfterFunc(time.Until(t), func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.changed.Broadcast()
		})
	}
	return nil
}

// SetReadDeadline is SetDeadline.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.SetDeadline(t) }

// SetWriteDeadline does nothing: Write does not wait.
func (c *Conn) SetWriteDeadline(time.Time) error { return nil }

// await waits until ok, which is called with c.mu, or for the end of the session or the deadline.
func (c *Conn) await(ok func() bool) error {
	for {
		switch {
		case ok():
			return nil
		case c.err != nil:
			return c.err
		case c.last:
			return io.EOF
		case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
			return os.ErrDeadlineExceeded
		}
		c.changed.Wait()
	}
}

// take takes a message of the peer.
func (c *Conn) take(m *lower.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.deaf {
		return
	}
	if err := c.taken(m); err != nil {
		c.violated(err)
	}
	c.changed.Broadcast()
}

// taken is take; c.mu is held.
func (c *Conn) taken(m *lower.Message) error {
	control := m.PPID == ppidControl
	switch {
	case !control && m.PPID != ppidSegment:
		return violation("payload protocol identifier %d", m.PPID)
	case !m.Unordered:
		return violation("an ordered message")
	case len(m.Data) < ssnLen:
		return violation("a message of %d bytes", len(m.Data))
	case c.last:
		return violation("a message behind the last")
	}
	ssn := binary.BigEndian.Uint16(m.Data)
	if ahead := ssn - c.next; ahead >= 1<<15 {
		return violation("DDP-SSN %d, when %d is due", ssn, c.next)
	}
	if c.early[ssn] != nil {
		return violation("DDP-SSN %d for the second time", ssn)
	}
	h, err := c.keep(control, m.Data[ssnLen:], ssn != c.next)
	if err != nil {
		return err
	}
	if ssn != c.next {
		c.early[ssn] = h
		return nil
	}
	if err := c.inOrder(h); err != nil {
		return err
	}
	return c.follow()
}

// grace is how long all streams of an association wait for the consumer of one that has more than
// Config.StreamMemory, and takes none of it. Meanwhile the window closes, which slows the peer
// down. Where there is one stream, it waits for as long as that takes.
const grace = time.Second

// keep copies a message for the consumer, when there is room. One that is early cannot wait for
// that: what is missing in front of it comes behind it.
func (c *Conn) keep(control bool, data []byte, early bool) (*held, error) {
	c.received += len(data)
	h := keep(control, data)
	if early && c.ahead+h.size() > aheadMost*c.a.cfg.Window || !early && !c.awaitRoom(h.size()) ||
		!c.a.reserve(h.size()) {
		h.release()
		c.a.cfg.Counters.overruns.Add(1)
		return nil, ErrOverrun
	}
	if !early {
		c.memory += h.size()
		return h, nil
	}
	c.ahead += h.size()
	if !control && !c.closed {
		c.unplaced = append(c.unplaced, h)
	}
	return h, nil
}

// aheadMost is how many windows may have come behind something that has not. SCTP lets the peer go
// on, since what has come is acknowledged.
const aheadMost = 4

// awaitRoom waits until the consumer has taken enough, and reports whether it has.
func (c *Conn) awaitRoom(n int) bool {
	if c.memory+n <= c.a.cfg.StreamMemory || c.closed {
		return true
	}
	passed := false
	t := time.AfterFunc(grace, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		passed = true
		c.changed.Broadcast()
	})
	defer t.Stop()
	for had := c.memory; c.memory+n > c.a.cfg.StreamMemory && !c.closed && c.err == nil; c.changed.Wait() {
		if !passed {
			continue
		}
		if c.memory >= had && !c.a.alone() {
			return false
		}
		had, passed = c.memory, false
		t.Reset(grace)
	}
	return true
}

// catchUp notes that a message is early no more.
func (c *Conn) catchUp(h *held) {
	c.ahead -= h.size()
	c.memory += h.size()
}

// drop gives back what keep has taken, and is in order.
func (c *Conn) drop(h *held) {
	c.free(h.size())
	h.release()
}

// free notes that a message which was in order is not kept any more.
func (c *Conn) free(n int) {
	c.memory -= n
	c.a.giveBack(n)
}

// forget drops what has come early, and is not going to be in order.
func (c *Conn) forget() {
	for _, h := range c.early { // who places it may look at it still, so it is not used again
		c.ahead -= h.size()
		c.a.giveBack(h.size())
	}
	clear(c.early)
	c.unplaced = nil
}

// follow takes what has come early, and is not any more.
func (c *Conn) follow() error {
	for len(c.early) > 0 {
		h := c.early[c.next]
		if h == nil {
			return nil
		}
		delete(c.early, c.next)
		c.catchUp(h)
		if err := c.inOrder(h); err != nil {
			return err
		}
	}
	return nil
}

// inOrder takes the message with the next DDP-SSN.
func (c *Conn) inOrder(h *held) error {
	c.next++
	switch {
	case h.control:
		m, err := parseControl(append([]byte(nil), h.data...))
		c.drop(h)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrViolation, err)
		}
		return c.controlled(m)
	case c.state == idle || c.state == concluded || c.active && c.state != open:
		c.drop(h)
		return violation("a segment outside of a session")
	}
	c.deliver(h)
	return nil
}

// deliver hands a segment to the consumer, unless there is none any more.
func (c *Conn) deliver(h *held) {
	if c.closed {
		c.drop(h)
		return
	}
	c.ready = append(c.ready, h)
}

// controlled takes a session control message, in order.
func (c *Conn) controlled(m control) error {
	f := m.function
	answers := c.active && f.enhanced() == (c.state == askedEnhanced) &&
		(c.state == asked || c.state == askedEnhanced)
	switch {
	case f == terminate:
		c.said = c.said || c.state == idle // it is of a session that this side knows nothing of
		c.concluded()
	case (f == initiate || f == enhancedInitiate) && c.state == idle && !c.active:
		c.state = asked
		if f.enhanced() {
			c.state = askedEnhanced
		}
		c.setup = append(c.setup, m)
		c.offer()
	case (f == accept || f == enhancedAccept) && answers:
		c.state = open
		c.a.cfg.Counters.sessions.Add(1)
		c.setup = append(c.setup, m)
	case (f == reject || f == enhancedReject) && answers:
		c.setup = append(c.setup, m)
		c.said = true
		c.concluded()
	default:
		return violation("%v out of its place", f)
	}
	return nil
}

// concluded notes that the peer has said its last.
func (c *Conn) concluded() {
	c.state, c.last = concluded, true
	c.forget()
	if c.over {
		c.a.release(c)
	}
	if c.said && !c.closed && len(c.setup) == 0 {
		c.close(io.EOF) // there is nobody else who would
	}
}

// offer hands over a session that the peer asks for. Where there is no room, it is answered by
// Terminate (RFC 5043 section 6.4).
func (c *Conn) offer() {
	if !c.a.offer(c) {
		c.a.cfg.Counters.pending.Add(1)
		c.close(errClosed)
	}
}

// violated ends the session for what the peer has sent (RFC 5043 section 6.1).
func (c *Conn) violated(err error) {
	c.deaf = true
	c.forget()
	if errors.Is(err, ErrViolation) {
		c.a.cfg.Counters.violations.Add(1)
	}
	c.a.cfg.faults.Fault(c.a.remote, "sctp: session ended", nil, "stream", c.id, "err", err)
	offered := c.active || c.state != idle
	if c.err == nil {
		c.err = err
	}
	if !offered {
		c.close(err)
	}
}

// lost ends the session, since the association has ended.
func (c *Conn) lost(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	if c.err == nil && !c.last { // else the peer has ended the session before
		c.err = err
	}
	c.changed.Broadcast()
	c.wake()
}

// wake has who waits for acknowledgements look again.
func (c *Conn) wake() {
	for _, waits := range []chan struct{}{c.acked, c.allAcked} {
		select {
		case waits <- struct{}{}:
		default:
		}
	}
}

// room is in front of what send is given.
const room = ssnLen

// send sends a message, for whose DDP-SSN p begins with room. c.mu is held.
func (c *Conn) send(ppid uint32, p []byte) error {
	binary.BigEndian.PutUint16(p, c.ssn)
	if c.ssn%markEvery == 0 {
		copy(c.marks[:], c.marks[1:])
		c.marks[len(c.marks)-1] = c.sent
	}
	if c.a.cfg.Draft {
		p = p[room:]
	}
	if err := c.a.lower.Send(c.id, ppid, p); err != nil {
		return err
	}
	c.ssn++
	c.sent += len(p)
	return nil
}

// sendControl sends a session control message; c.mu is held.
func (c *Conn) sendControl(m control) error {
	err := c.send(ppidControl, m.append(make([]byte, room)))
	c.controls = c.sent
	return err
}

// acknowledged is how many of the bytes that were sent the peer has acknowledged; c.mu is held.
func (c *Conn) acknowledged() int { return c.sent - c.a.lower.Unacknowledged(c.id) }

// Close ends the session, as Terminate tells the peer. It does not wait.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close(errClosed)
	return nil
}

// close is Close, for a reason. c.mu is held.
func (c *Conn) close(err error) {
	if c.closed {
		return
	}
	c.closed = true
	c.ends()
	if c.err == nil {
		c.err = err
	}
	// Who is in Receive may look at them still, so they are not used again.
	for _, h := range c.ready {
		c.free(h.size())
	}
	c.ready, c.unplaced = nil, nil
	if c.timer != nil {
		c.timer.Stop()
	}
	c.changed.Broadcast()
	go c.finish()
}

// ends notes that this side ends the session, or is about to; c.mu is held.
func (c *Conn) ends() {
	if !c.ending {
		c.ending = true
		c.a.closing()
	}
}

// succeeded reports whether a message of the peer belongs to another session, since both sides have
// said their last in this one. That the peer begins another tells that it has all of this one,
// which the acknowledgement may not have told yet.
func (c *Conn) succeeded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.last || !c.said {
		return false
	}
	c.over = true
	c.a.release(c)
	c.wake()
	return true
}

// finish says the last, and waits until the peer has acknowledged everything. No control message
// overtakes another (RFC 5043 section 6.6).
func (c *Conn) finish() {
	if c.a.cfg.Draft {
		c.awaitAcknowledged(func() int { return c.sent })
	} else {
		c.awaitAcknowledged(func() int { return c.controls })
	}
	c.mu.Lock()
	if !c.said && (c.ssn > 0 || !c.active) { // else the peer knows nothing of the session
		c.said = true
		if c.a.cfg.Draft {
			_ = c.sendReset()
		} else {
			_ = c.sendControl(control{function: terminate}) // or the association has ended
		}
	}
	nothing := c.ssn == 0 && c.active
	c.mu.Unlock()
	c.awaitAcknowledged(func() int { return c.sent })
	c.mu.Lock()
	c.over = true
	if c.last || nothing {
		c.a.release(c)
	}
	c.mu.Unlock()
	close(c.finished)
	c.a.rest()
}

// awaitAcknowledged waits until the peer has acknowledged so much, or is known to have all, or the
// association has ended. The function is called with c.mu.
func (c *Conn) awaitAcknowledged(much func() int) {
	for {
		c.mu.Lock()
		mark, acknowledged := much(), c.acknowledged()
		below := max(c.sent-mark, 0) + 1
		known := c.over || acknowledged >= mark
		if !known { // else the stream may be another session's
			c.a.lower.Acknowledged(c.id, below, c.wake)
		}
		c.mu.Unlock()
		if known {
			return
		}
		if c.a.lower.Unacknowledged(c.id) < below {
			return
		}
		select {
		case <-c.allAcked:
		case <-c.a.over:
			return
		}
	}
}
