package rc

import (
	"fmt"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// Take takes an acknowledgement, or a part of the response to an RDMA Read. An error ends the
// connection. If the peer has refused a request, which is then the oldest, the error wraps
// transport.ErrTerminated and the error that the NAK stands for.
func (r *Requester) Take(h *bth.Packet, now time.Time) error {
	if !r.Awaits(h) {
		return nil // a duplicate, or about packets never sent
	}
	n := r.oldest + uint64(r.wire.near(r.oldest, h.PSN))
	if h.Opcode != bth.Acknowledge {
		return r.response(n, h.Payload, now)
	}
	s := h.AETH.Syndrome
	switch {
	case s.IsACK():
		r.acknowledge(n+1, now)
	case s.IsRNR():
		r.cfg.Traffic.ReceivedNAK(s)
		return r.notReady(n, s, now)
	case s.IsNAK():
		r.cfg.Traffic.ReceivedNAK(s)
		r.acknowledge(n, now)
		if s != bth.NAKSequence {
			return fmt.Errorf("%w: %w (%v)", transport.ErrTerminated, r.meaning(s), s)
		}
		if r.oldest == n {
			r.goBack(now)
		}
	}
	return nil
}

// Awaits reports whether an answer has the PSN of an outstanding packet. Somebody who only guesses
// at PSNs hardly meets one.
func (r *Requester) Awaits(h *bth.Packet) bool {
	near := r.wire.near(r.oldest, h.PSN)
	return near >= 0 && uint64(near) < r.top-r.oldest
}

// meaning returns the error that a NAK for the oldest request stands for. A NAK tells less than
// package transport distinguishes. These are the possible causes between two ends of this provider,
// and the likely ones with others.
func (r *Requester) meaning(s bth.Syndrome) error {
	read := r.queue.Len() > 0 && r.queue.At(0).wr.Op == transport.OpRead
	switch {
	case s == bth.NAKAccess:
		return transport.ErrRemoteAccess
	case s == bth.NAKOperation:
		return transport.ErrNoReceive
	case s == bth.NAKInvalid && read:
		return transport.ErrTooManyReads
	case s == bth.NAKInvalid:
		return transport.ErrTooLong
	}
	return ErrProtocol
}

// acknowledge marks all packets before to as acknowledged, except RDMA Reads. Only its response
// acknowledges a Read; if that is missing, it was lost.
func (r *Requester) acknowledge(to uint64, now time.Time) {
	reached := to
	for i := range r.queue.Len() {
		q := r.queue.At(i)
		if !q.begun || q.first >= to {
			break
		}
		if q.wr.Op == transport.OpRead && q.end() > r.oldest {
			reached = min(to, max(q.first, r.oldest))
			break
		}
	}
	r.advance(reached, now)
	if reached < to {
		r.goBack(now)
	}
}

// advance marks all packets before to as acknowledged.
func (r *Requester) advance(to uint64, now time.Time) {
	if to <= r.oldest {
		return
	}
	r.window.grow(to - r.oldest)
	r.timeout.end(to, now)
	r.oldest, r.ahead = to, 0
	r.since, r.progress, r.rnrs = now, now, 0
	if r.sent < to { // they were about to be sent again
		r.position(to)
	}
	r.reads = dropUpTo(r.reads, to)
	r.bounds = dropUpTo(r.bounds, to)
	r.retire()
}

// dropUpTo returns the elements of an ascending list that are greater than n.
func dropUpTo(list []uint64, n uint64) []uint64 {
	k := 0
	for k < len(list) && list[k] <= n {
		k++
	}
	return slices.Delete(list, 0, k)
}

// retire completes the acknowledged requests.
func (r *Requester) retire() {
	for r.queue.Len() > 0 {
		q := r.queue.At(0)
		if !q.begun || q.end() > r.oldest {
			return
		}
		if q.wr.Flags&transport.Signaled != 0 {
			r.done.Push(Completion{q.wr, nil})
		}
		r.queue.Pop()
		if r.next > 0 {
			r.next--
		}
	}
}

// response takes packet n, a response to an RDMA Read.
func (r *Requester) response(n uint64, payload []byte, now time.Time) error {
	q := r.find(n)
	if q == nil || q.wr.Op != transport.OpRead {
		return fmt.Errorf("%w: a response without an RDMA Read", ErrProtocol)
	}
	r.acknowledge(q.first, now) // the requests before the Read
	if n > r.oldest {           // a packet is missing
		if n <= r.ahead {
			r.wentBack = 0 // the peer has started again, and lost it again
		}
		r.ahead = n
		r.goBack(now)
		return nil
	}
	q = r.queue.At(0)
	off := int(n-q.first) * r.cfg.MTU
	if want := min(r.cfg.MTU, q.length-off); len(payload) != want {
		return fmt.Errorf("%w: a response packet of %d bytes, want %d", ErrProtocol, len(payload),
			want)
	}
	if n == q.first {
		r.placed.seek(q.wr.Local, 0)
	}
	r.placed.write(payload)
	r.cfg.Traffic.Received.Add(uint64(len(payload)))
	r.cfg.Traffic.Read.Add(uint64(len(payload)))
	r.advance(n+1, now)
	return nil
}

// find returns the request that packet n belongs to.
func (r *Requester) find(n uint64) *request {
	for i := range r.queue.Len() {
		if q := r.queue.At(i); q.begun && q.first <= n && n < q.end() {
			return q
		}
	}
	return nil
}

// notReady takes an RNR NAK.
func (r *Requester) notReady(n uint64, s bth.Syndrome, now time.Time) error {
	r.acknowledge(n, now)
	if r.oldest != n || r.sent <= n { // it will be sent again anyway
		return nil
	}
	if r.rnrs++; r.cfg.RNRRetry != RNRForever && r.rnrs > r.cfg.RNRRetry {
		return fmt.Errorf("%w: %w (%v)", transport.ErrTerminated, transport.ErrNoReceive, s)
	}
	if now.Sub(r.progress) > 2*r.cfg.PeerTimeout {
		return fmt.Errorf("%w: receiver not ready for too long", ErrTimeout)
	}
	r.notBefore = now.Add(s.Wait())
	r.since = r.notBefore
	r.timeout.sampling, r.timeout.doubled = false, 0
	r.position(n)
	return nil
}

// goBack sends again from the oldest unacknowledged packet on. It does so once for each oldest
// packet.
func (r *Requester) goBack(now time.Time) {
	if r.wentBack == r.oldest+1 {
		return // sent again already; the timeout handles another loss
	}
	r.wentBack, r.since = r.oldest+1, now
	r.window.halve(r.oldest, r.top)
	r.timeout.sampling = false
	r.position(r.oldest)
}

// position makes packet n the next to send.
func (r *Requester) position(n uint64) {
	r.sent, r.next = n, 0
	for r.next < r.queue.Len() {
		if q := r.queue.At(r.next); !q.begun || q.end() > n {
			break
		}
		r.next++
	}
	kept := r.reads[:0]
	for _, end := range r.reads {
		if end <= n {
			kept = append(kept, end)
		}
	}
	r.reads = kept
}

// Congested notes a congestion notification.
func (r *Requester) Congested() { r.window.halve(r.oldest, r.top) }

// Deadline returns when to call Fill and Expire next, if nothing comes. Zero means never.
func (r *Requester) Deadline() time.Time {
	switch {
	case !r.notBefore.IsZero():
		return r.notBefore
	case r.oldest < r.top:
		return r.since.Add(r.timeout.length())
	}
	return time.Time{}
}

// Expire sends again what was not acknowledged in time. It fails with ErrTimeout if this has gone
// on for too long.
func (r *Requester) Expire(now time.Time) error {
	if !r.notBefore.IsZero() || r.oldest == r.top || now.Before(r.since.Add(r.timeout.length())) {
		return nil
	}
	r.cfg.Traffic.TimedOut()
	if now.Sub(r.progress) > r.cfg.PeerTimeout {
		return fmt.Errorf("%w: packets not acknowledged", ErrTimeout)
	}
	r.timeout.doubled++
	r.timeout.sampling = false
	r.since = now
	r.wentBack = r.oldest + 1
	r.window.collapse(r.oldest, r.top)
	r.position(r.oldest)
	return nil
}
