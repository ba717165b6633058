package roce

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/rc"
)

// noticeEvery is the minimum interval between two congestion notifications to a peer (annex A17
// section A17.9.3).
const noticeEvery = 50 * time.Microsecond

// begin starts taking packets from the peer. It reports false if the connection is being taken
// apart.
func (e *endpoint) begin() bool {
	if !e.taking.TryLock() {
		return false
	}
	e.mu.Lock()
	e.busy = true
	e.mu.Unlock()
	return true
}

// take takes a packet from the peer's address. Only one with a PSN that is due shows that the peer
// is there, and its identification. Anybody could have sent another, to a queue pair number that
// was guessed.
func (e *endpoint) take(h *bth.Packet, id uint16, marked bool, now time.Time) {
	if e.peer.Addr().Is4() && !e.ids.plausible(id, now) {
		atomic.AddUint64(&e.cfg.Counters.stats.BadPackets, 1)
		return
	}
	atomic.AddUint64(&e.cfg.Counters.stats.PacketsReceived, 1)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.awaits(h) {
		e.ids.note(id, now)
		e.heard = now
		e.conn.established()
	}
	if marked && now.Sub(e.noticed) >= noticeEvery {
		e.notice, e.noticed = true, now
	}
	var err error
	switch {
	case e.err != nil && !e.resp.Refused():
	case h.Opcode == bth.CNP:
		atomic.AddUint64(&e.cfg.Counters.stats.CNPsReceived, 1)
		e.req.Congested()
	case h.Opcode.IsResponse():
		if e.err != nil {
			return
		}
		if err = e.req.Take(h, now); err != nil {
			e.fail("send", err, err)
		}
	default:
		var promised *transport.RecvRequest
		if e.resp.Wants(h) {
			promised = e.promised()
			if e.err != nil {
				return
			}
		}
		if err = e.resp.Take(h, promised, now); err != nil {
			e.fail("receive", err, nil)
		}
	}
}

// awaits reports whether a packet has a PSN that is due: of the next request, or of an answer to an
// outstanding one; mu is held.
func (e *endpoint) awaits(h *bth.Packet) bool {
	switch {
	case h.Opcode == bth.CNP:
		return false
	case h.Opcode.IsResponse():
		return e.req.Awaits(h)
	}
	return e.resp.Expects(h)
}

// promised returns memory for a promised receive. It asks the source without mu, which is held. If
// the source ends the goroutine, the connection ends, and nobody takes packets for it any more.
func (e *endpoint) promised() *transport.RecvRequest {
	returned := false
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		if !returned {
			e.deserted()
			e.busy = false
			e.taking.Unlock()
		}
	}()
	r := e.source.Receive()
	returned = true
	return r
}

// fail ends the connection because of a fault; mu is held. If refused is not nil, the oldest
// request fails with the same error.
func (e *endpoint) fail(op string, err, refused error) {
	switch {
	case errors.Is(err, rc.ErrTimeout):
		err = fmt.Errorf("%w: %w", ErrPeerTimeout, err)
	case errors.Is(err, rc.ErrProtocol):
		err = fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	if refused != nil {
		refused = e.opError(op, err)
	}
	if e.end(e.opError(op, err), refused) && !errors.Is(err, transport.ErrTerminated) &&
		!errors.Is(err, rc.ErrTimeout) {
		e.cfg.faults.Fault(e.info.RemoteAddr, "roce: connection ended", nil, "err", err)
	}
}

// conclude ends what begin began. It delivers messages and completions.
func (e *endpoint) conclude() {
	returned := false
	defer func() {
		e.mu.Lock()
		if !returned {
			e.deserted()
		}
		e.busy = false
		e.mu.Unlock()
		e.taking.Unlock()
		e.dev.schedule(e)
	}()
	e.mu.Lock()
	batch, r := e.resp.Arrived(), e.receiver
	e.mu.Unlock()
	if len(batch) > 0 {
		r.Received(batch)
	}
	e.deliver()
	returned = true
}

// deliver delivers completions.
func (e *endpoint) deliver() {
	e.delivering.Lock()
	returned := false
	defer func() {
		e.delivering.Unlock()
		if !returned {
			e.mu.Lock()
			e.deserted()
			e.mu.Unlock()
		}
	}()
	for {
		e.mu.Lock()
		c, ok := e.req.PopDone()
		e.mu.Unlock()
		if !ok {
			break
		}
		if c.WR != &e.probe {
			c.WR.Done.Complete(c.WR, c.Err)
		}
	}
	returned = true
}

// fill puts what may be sent into a batch. It reports whether there is more, and whether there are
// completions to deliver.
func (e *endpoint) fill(b *batch, now time.Time) (more, completed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	b.begin(&e.path, e.peer, e.trace)
	defer func() {
		b.seal()
		atomic.AddUint64(&e.cfg.Counters.stats.PacketsSent, uint64(b.packets))
	}()
	if e.err != nil && !e.resp.Refused() {
		return false, false
	}
	if e.notice && e.err == nil {
		e.notify(b)
	}
	more, err := e.resp.Fill(b)
	if err != nil {
		e.fail("read", err, nil)
		more, _ = e.resp.Fill(b) // to tell the peer
	}
	if e.err != nil {
		return more, false
	}
	if !more {
		more = e.req.Fill(b, now)
	}
	e.arm(now)
	return more, e.req.Completed()
}

// notify adds a congestion notification (annex A17 section A17.9.3).
func (e *endpoint) notify(b *batch) {
	h := bth.Packet{
		Opcode: bth.CNP, Migrated: true, BECN: true, PKey: bth.DefaultPKey, QP: e.conn.peerQP,
	}
	const reserved = 16 // bytes
	if p, ok := b.Packet(&h, reserved); ok {
		clear(p)
		e.notice = false
		atomic.AddUint64(&e.cfg.Counters.stats.CNPsSent, 1)
	}
}

// arm sets the timer; mu is held.
func (e *endpoint) arm(now time.Time) {
	at := e.req.Deadline()
	if owed := e.resp.PeerDeadline(); at.IsZero() || !owed.IsZero() && owed.Before(at) {
		at = owed
	}
	if e.cfg.KeepAlive > 0 {
		if ask := e.heard.Add(e.cfg.KeepAlive); at.IsZero() || ask.Before(at) {
			at = ask
		}
	}
	if at.IsZero() || !e.due.IsZero() && !at.Before(e.due) {
		return // the timer rings soon enough, and is then set again
	}
	e.due = at
	e.timer.Reset(at.Sub(now))
}

// ring is called when the timer rings.
func (e *endpoint) ring() {
	now := time.Now()
	e.mu.Lock()
	e.due = time.Time{}
	if e.err != nil {
		e.mu.Unlock()
		return
	}
	if err := e.req.Expire(now); err != nil {
		e.fail("send", err, nil)
		e.mu.Unlock()
		return
	}
	if err := e.resp.Overdue(now); err != nil {
		e.fail("receive", err, nil)
		e.mu.Unlock()
		return
	}
	e.keepAlive(now)
	e.mu.Unlock()
	e.dev.schedule(e)
	e.dev.flush()
}

// keepAlive asks a silent peer for an acknowledgement, by an RDMA Write of length zero, which names
// no memory (IBTA section 9.7.4.1.1, C9-88). If requests are outstanding, their acknowledgements
// serve.
func (e *endpoint) keepAlive(now time.Time) {
	if e.cfg.KeepAlive == 0 || now.Sub(e.heard) < e.cfg.KeepAlive {
		return
	}
	e.heard = now // starts the next interval; Expire notices a missing answer
	if e.req.Idle() && e.req.Room(1) {
		e.req.Post(&e.probe)
	}
}
