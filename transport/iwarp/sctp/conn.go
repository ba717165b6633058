package sctp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp/internal/lower"
)

// Conn is one side of a DDP stream session (RFC 5043 section 6). It begins as a connection for
// package mpa to set up, with frames that travel as session control messages: see ReadFrame. After
// that it is a ddp.LLP: see LLP. As a net.Conn it has addresses, deadlines for the startup, and
// Close. It cannot Read or Write.
type Conn struct {
	a      *association
	id     uint16
	active bool // this side asked for the session

	mu      sync.Mutex // guards what follows
	changed sync.Cond
	state   state
	err     error // why the session has ended, for this side

	// What the peer has sent. All messages before DDP-SSN next have come. In the draft, the
	// association keeps the order.
	next     uint16
	early    map[uint16]*held // messages that came before an earlier one
	unplaced []*held          // early ones that the consumer has not seen
	ready    []*held          // for the consumer, in order
	memory   int              // bytes held for the consumer, in order
	ahead    int              // bytes held that came early
	received int              // bytes received so far
	setup    []control        // setup messages, for ReadFrame
	last     bool             // the peer's last message has come
	deaf     bool             // all input is ignored, after a violation

	// What this side has sent.
	ssn      uint16        // of the next message
	sent     int           // bytes
	controls int           // value of sent after the last control message
	marks    [3]int        // values of sent at the last SSNs that markEvery divides
	acked    chan struct{} // wakes up llp.Wait
	allAcked chan struct{} // wakes up finish; each may replace the other's lower.Acknowledged

	said     bool          // this side has sent its last message
	ending   bool          // this side is about to close the session
	closed   bool          // this side has closed it
	over     bool          // and the peer has acknowledged all
	finished chan struct{} // closed when over is set
	deadline time.Time
	timer    *time.Timer
}

// state is the position of a session in the legal sequences (RFC 5043 sections 6.2 to 6.4, RFC 6581
// section 7).
type state uint8

const (
	idle          state = iota // nothing was sent or received
	asked                      // Initiate was sent or received
	askedEnhanced              // Enhanced Initiate was
	open                       // Accept was
	concluded                  // Reject or Terminate was
)

var _ net.Conn = (*Conn)(nil)

// markEvery is how many messages are between two marks. All messages before the oldest mark have
// been acknowledged. So at most three times markEvery messages, plus one, are unacknowledged: fewer
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

// LocalAddr returns the Addr of this side.
func (c *Conn) LocalAddr() net.Addr { return c.a.local }

// RemoteAddr returns the Addr of the peer.
func (c *Conn) RemoteAddr() net.Addr { return c.a.remote }

// Stream returns the id of the two SCTP streams that the session uses.
func (c *Conn) Stream() uint16 { return c.id }

// Read waits until the session has ended, and reads nothing.
func (c *Conn) Read([]byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.await(func() bool { return c.state == concluded }); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// Write fails: a session carries messages, not bytes.
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

// await waits until ok reports true, or for the end of the session or the deadline. It calls ok
// with c.mu held.
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

// take takes a message from the peer.
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

// taken is take with c.mu held.
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
		return violation("a message after the last")
	}
	ssn := binary.BigEndian.Uint16(m.Data)
	if ahead := ssn - c.next; ahead >= 1<<15 {
		return violation("DDP-SSN %d, expected %d", ssn, c.next)
	}
	if c.early[ssn] != nil {
		return violation("duplicate DDP-SSN %d", ssn)
	}
	h, err := c.keep(m, control, m.Data[ssnLen:], ssn != c.next)
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

// grace is how long all streams of an association wait for the consumer of a stream that has more
// than Config.StreamMemory and takes none of it. Meanwhile the window closes, which slows the peer
// down. A single stream waits for as long as it takes.
const grace = time.Second

// keep copies the data of a message for the consumer, when there is room. An early message cannot
// wait for room: the missing ones are behind it in the input.
func (c *Conn) keep(m *lower.Message, control bool, data []byte, early bool) (*held, error) {
	c.received += len(data)
	h := keep(control, data)
	var fits bool
	if early {
		fits = c.ahead+h.size() <= aheadMost*c.a.cfg.Window && c.a.reserve(m, h.size())
	} else {
		fits = c.awaitRoom(m, h.size())
	}
	if !fits {
		h.release()
		atomic.AddUint64(&c.a.cfg.Counters.stats.Overruns, 1)
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

// aheadMost is how many windows of early messages may be held. SCTP lets the peer go on, since what
// has come is acknowledged.
const aheadMost = 4

// awaitRoom waits until there is room for n bytes of a message, and reserves it. It reports false
// if the consumer stops while other streams wait, or if there is no room and the session has ended.
func (c *Conn) awaitRoom(m *lower.Message, n int) bool {
	over := func() bool { return c.closed || c.err != nil || c.a.gone.Load() }
	fits := func() bool {
		return (c.memory+n <= c.a.cfg.StreamMemory || over()) && (c.a.reserve(m, n) || c.a.owe(m, n))
	}
	if fits() {
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
	for had := c.memory; !fits(); c.changed.Wait() {
		switch {
		case over():
			return false
		case !passed:
			continue
		case c.memory >= had && !c.a.alone():
			return false
		}
		had, passed = c.memory, false
		t.Reset(grace)
	}
	return true
}

// catchUp notes that a message is no longer early.
func (c *Conn) catchUp(h *held) {
	c.ahead -= h.size()
	c.memory += h.size()
}

// drop frees a message that was in order.
func (c *Conn) drop(h *held) {
	c.free(h.size())
	h.release()
}

// free notes that n bytes in order are no longer held.
func (c *Conn) free(n int) {
	c.memory -= n
	c.a.giveBack(n)
}

// forget drops the early messages that will never be in order.
func (c *Conn) forget() {
	for _, h := range c.early { // not reused: llp.place may still read it
		c.ahead -= h.size()
		c.a.giveBack(h.size())
	}
	clear(c.early)
	c.unplaced = nil
}

// follow takes the early messages that are now in order.
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
		return violation("a segment outside a session")
	}
	c.deliver(h)
	return nil
}

// deliver hands a segment to the consumer, if there still is one.
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
		c.said = c.said || c.state == idle // this side never knew the session
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
		atomic.AddUint64(&c.a.cfg.Counters.stats.Sessions, 1)
		c.setup = append(c.setup, m)
	case (f == reject || f == enhancedReject) && answers:
		c.setup = append(c.setup, m)
		c.said = true
		c.concluded()
	default:
		return violation("unexpected %v", f)
	}
	return nil
}

// concluded notes that the peer has sent its last message.
func (c *Conn) concluded() {
	c.state, c.last = concluded, true
	c.forget()
	if c.over {
		c.a.release(c)
	}
	if c.said && !c.closed && len(c.setup) == 0 {
		c.close(io.EOF) // nobody else will close it
	}
}

// offer offers the peer's new session to Accept. If there is no room, it answers with Terminate
// (RFC 5043 section 6.4).
func (c *Conn) offer() {
	if !c.a.offer(c) {
		atomic.AddUint64(&c.a.cfg.Counters.stats.Pending, 1)
		c.close(errClosed)
	}
}

// violated ends the session because of what the peer has sent (RFC 5043 section 6.1).
func (c *Conn) violated(err error) {
	c.deaf = true
	c.forget()
	if errors.Is(err, ErrViolation) {
		atomic.AddUint64(&c.a.cfg.Counters.stats.Violations, 1)
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

// lost ends the session because the association has ended.
func (c *Conn) lost(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget()
	if c.err == nil && !c.last { // otherwise the session ended before
		c.err = err
	}
	c.changed.Broadcast()
	c.wake()
}

// wake wakes up those that wait for acknowledgements.
func (c *Conn) wake() {
	for _, waits := range []chan struct{}{c.acked, c.allAcked} {
		select {
		case waits <- struct{}{}:
		default:
		}
	}
}

// room is the free space that send needs at the front of its argument.
const room = ssnLen

// send sends a message. It writes the DDP-SSN into the first room bytes of p. c.mu is held.
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

// acknowledged returns how many of the sent bytes the peer has acknowledged; c.mu is held.
func (c *Conn) acknowledged() int { return c.sent - c.a.lower.Unacknowledged(c.id) }

// Close ends the session, and sends the peer a Terminate. It does not wait.
func (c *Conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.close(errClosed)
	return nil
}

// close ends the session with err; c.mu is held.
func (c *Conn) close(err error) {
	if c.closed {
		return
	}
	c.closed = true
	c.ends()
	if c.err == nil {
		c.err = err
	}
	// They are not reused, because a pending Receive may still read them.
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

// succeeded reports whether a message from the peer belongs to a new session on this stream,
// because both sides have sent their last message in this one. Then the peer has received all of
// this session, even if the acknowledgement has not arrived yet.
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

// finish sends the last message, and waits until the peer has acknowledged everything. It first
// waits for older control messages, as none may overtake another (RFC 5043 section 6.6).
func (c *Conn) finish() {
	if c.a.cfg.Draft {
		c.awaitAcknowledged(func() int { return c.sent })
	} else {
		c.awaitAcknowledged(func() int { return c.controls })
	}
	c.mu.Lock()
	if !c.said && (c.ssn > 0 || !c.active) { // otherwise the peer never learned of the session
		c.said = true
		if c.a.cfg.Draft {
			_ = c.sendReset()
		} else {
			_ = c.sendControl(control{function: terminate}) // fails only after its end
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

// awaitAcknowledged waits until the peer has acknowledged much() bytes, or is known to have all, or
// until the association has ended. It calls much with c.mu held.
func (c *Conn) awaitAcknowledged(much func() int) {
	for {
		c.mu.Lock()
		mark, acknowledged := much(), c.acknowledged()
		below := max(c.sent-mark, 0) + 1
		known := c.over || acknowledged >= mark
		if !known { // once known, the stream may belong to another session
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
