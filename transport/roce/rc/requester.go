package rc

import (
	"errors"
	"slices"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// Reasons for the end of a connection, besides those of package transport.
var (
	// ErrTimeout: the peer has not acknowledged what was sent, or has not gone on with a message.
	ErrTimeout = errors.New("timeout")
	// ErrProtocol: the peer has broken the protocol.
	ErrProtocol = errors.New("bad packet")
)

// RNRForever is the RNR retry count that means no limit (IBTA section 9.7.5.2.8).
const RNRForever = 7

// ackEvery is the interval, in packets of a message, at which an acknowledgement is requested.
const ackEvery = 16

// RequesterConfig configures a Requester.
type RequesterConfig struct {
	QP          uint32 // of the peer
	PSN         uint32 // of the first packet
	MTU         int    // path MTU in bytes
	Depth       int    // requests that can be queued
	Reads       int    // RDMA Reads that may be outstanding
	RNRRetry    int    // RNR NAKs allowed in a row; RNRForever: no limit
	Window      int    // maximum packets in flight
	PeerTimeout time.Duration

	// Invalidate invalidates a steering tag of this end.
	Invalidate func(transport.STag)
	Traffic    *Traffic
}

// Requester sends the requests of one end.
type Requester struct {
	cfg  RequesterConfig
	wire numbering

	queue ring.Ring[request] // not yet complete
	next  int                // index of the one being sent
	done  ring.Ring[Completion]

	// Packet numbers: oldest is the first unacknowledged packet, sent the next to send, and top the
	// next that was never sent. oldest <= sent <= top.
	oldest, sent, top uint64
	wentBack          uint64 // oldest+1 at the last retransmission; 0: never
	ahead             uint64 // last packet of a response that came ahead of oldest; 0: none

	reads  []uint64 // ends of the outstanding RDMA Reads
	bounds []uint64 // ends of the unanswered parts of RDMA Reads
	gather cursor   // in the memory of the request being sent, at packet at
	at     uint64
	placed cursor // in the memory of the RDMA Read being answered

	window    window
	timeout   timeout
	since     time.Time // start of the timeout, if anything is outstanding
	progress  time.Time // last acknowledgement, or first packet after idling
	notBefore time.Time // end of the wait after an RNR NAK; zero: none
	rnrs      int       // RNR NAKs in a row
	header    bth.Packet
}

// request is a work request in the queue.
type request struct {
	wr      *transport.WorkRequest
	length  int // bytes
	begun   bool
	first   uint64 // packet
	packets uint64 // 0: a local request
}

func (q *request) end() uint64 { return q.first + q.packets }

// Completion is the completion of a request.
type Completion struct {
	WR  *transport.WorkRequest
	Err error
}

// NewRequester returns an idle Requester.
func NewRequester(cfg RequesterConfig) *Requester {
	return &Requester{
		cfg: cfg, wire: numbering{cfg.PSN},
		queue: ring.New[request](cfg.Depth), done: ring.New[Completion](cfg.Depth),
		reads: make([]uint64, 0, cfg.Reads), window: newWindow(cfg.Window),
	}
}

// Room reports whether n more requests can be queued. Completions that have not been taken count as
// queued.
func (r *Requester) Room(n int) bool { return r.queue.Room(n + r.done.Len()) }

// Post queues a request. The caller has checked Room.
func (r *Requester) Post(wr *transport.WorkRequest) {
	r.queue.Push(request{wr: wr, length: transport.TotalLen(wr.Local)})
}

// Idle reports whether nothing is queued.
func (r *Requester) Idle() bool { return r.queue.Len() == 0 }

// PopDone returns the oldest completion.
func (r *Requester) PopDone() (Completion, bool) { return r.done.Pop() }

// Completed reports whether there is a completion for PopDone.
func (r *Requester) Completed() bool { return r.done.Len() > 0 }

// Flush completes all requests: the oldest with err, if that is not nil, and the others with
// flushed.
func (r *Requester) Flush(err, flushed error) {
	if err == nil {
		err = flushed
	}
	for q, ok := r.queue.Pop(); ok; q, ok = r.queue.Pop() {
		r.done.Push(Completion{q.wr, err})
		err = flushed
	}
}

// Fill sends what may be sent. It reports whether there is more that out has no room for.
func (r *Requester) Fill(out Outbox, now time.Time) (more bool) {
	if now.Before(r.notBefore) {
		return false
	}
	r.notBefore = time.Time{}
	for r.next < r.queue.Len() {
		q := r.queue.At(r.next)
		if !q.begun && !r.begin(q) {
			return false
		}
		if r.sent == q.end() {
			r.next++
			r.retire() // a local request may be complete
			continue
		}
		room := r.window.room(r.sent - r.oldest)
		if room == 0 {
			return false
		}
		var n uint64 // packets
		var ok bool
		if q.wr.Op == transport.OpRead {
			if n = r.readLength(q, room); n == 0 {
				return false
			}
			ok = r.sendRead(q, n, out, now)
		} else {
			if (r.sent-q.first)%ackEvery == 0 && room < min(r.burst(), q.end()-r.sent) {
				return false // otherwise bursts would get ever smaller
			}
			n = 1
			ok = r.sendData(q, room == 1, out, now)
		}
		if !ok {
			return true
		}
		if r.top == r.oldest { // nothing is outstanding
			r.since, r.progress = now, now
		}
		r.sent += n
		r.top = max(r.top, r.sent)
	}
	return false
}

// burst is the least number of packets of a long message that leave together. Its last packet
// requests an acknowledgement.
func (r *Requester) burst() uint64 { return min(uint64(r.window.size)/4, ackEvery) }

// begin begins a request, after all before it have been sent. It reports false if the request must
// wait.
func (r *Requester) begin(q *request) bool {
	if q.wr.Flags&transport.Fence != 0 && len(r.reads) > 0 {
		return false
	}
	q.begun, q.first = true, r.top
	if q.wr.Op == transport.OpInvalidate {
		r.cfg.Invalidate(q.wr.Invalidate)
		return true
	}
	q.packets = packetsOf(q.length, r.cfg.MTU)
	return true
}

// sendData sends a packet of a Send or an RDMA Write.
func (r *Requester) sendData(q *request, last bool, out Outbox, now time.Time) bool {
	k := r.sent - q.first
	off := int(k) * r.cfg.MTU
	n := min(r.cfg.MTU, q.length-off)
	ends := k == q.packets-1
	h := &r.header
	*h = bth.Packet{
		Opcode: opcodeOf(q.wr.Op, k == 0, ends), Migrated: true, PKey: bth.DefaultPKey,
		AckReq: ends || k%ackEvery == ackEvery-1 || last, QP: r.cfg.QP, PSN: r.wire.psn(r.sent),
	}
	switch {
	case q.wr.Op == transport.OpWrite && k == 0:
		h.RETH = bth.RETH{
			Addr: q.wr.Remote.Offset, RKey: uint32(q.wr.Remote.STag), Len: uint32(q.length),
		}
	case ends && q.wr.Op != transport.OpWrite:
		h.Solicited = q.wr.Flags&transport.Solicited != 0
		h.Invalidate = uint32(q.wr.Invalidate)
	}
	p, ok := out.Packet(h, n)
	if !ok {
		return false
	}
	if k == 0 || r.at != r.sent {
		r.gather.seek(q.wr.Local, off)
	}
	r.gather.read(p)
	r.at = r.sent + 1
	if r.sent < r.top {
		r.cfg.Traffic.Retransmitted()
		return true
	}
	r.cfg.Traffic.Sent.Add(uint64(n))
	if h.AckReq {
		r.timeout.begin(r.sent+1, now)
	}
	return true
}

// opcodeOf returns the opcode for a packet of a message, by its position.
func opcodeOf(op transport.Op, first, last bool) bth.Opcode {
	write := op == transport.OpWrite
	switch {
	case first && last && write:
		return bth.WriteOnly
	case first && last && op == transport.OpSendInvalidate:
		return bth.SendOnlyInvalidate
	case first && last:
		return bth.SendOnly
	case first && write:
		return bth.WriteFirst
	case first:
		return bth.SendFirst
	case last && write:
		return bth.WriteLast
	case last && op == transport.OpSendInvalidate:
		return bth.SendLastInvalidate
	case last:
		return bth.SendLast
	case write:
		return bth.WriteMiddle
	}
	return bth.SendMiddle
}

// readLength returns how many packets an RDMA Read may ask for now: all of the request, or a part.
// To the peer, each part is a Read. So the window bounds what the peer sends, and one part is
// answered while the next is requested.
//
// A retransmission asks for the whole rest of one part, and not beyond its end. A request that
// crosses that end would be partly new to the peer. And when rdma_rxe is asked for a later piece of
// a part, it forgets the earlier ones.
func (r *Requester) readLength(q *request, room uint64) uint64 {
	if len(r.reads) == cap(r.reads) {
		return 0
	}
	if r.sent < r.top {
		i, _ := slices.BinarySearch(r.bounds, r.sent+1)
		n := r.bounds[i] - r.sent
		if n > room && r.sent > r.oldest {
			return 0
		}
		return n
	}
	left := q.end() - r.sent
	most := max(uint64(r.window.size)/2, 1)
	n := min(left, room, most)
	if n < min(left, (most+1)/2) && r.sent > r.oldest {
		return 0
	}
	return n
}

// sendRead asks for n packets of an RDMA Read.
func (r *Requester) sendRead(q *request, n uint64, out Outbox, now time.Time) bool {
	off := int(r.sent-q.first) * r.cfg.MTU
	h := &r.header
	*h = bth.Packet{
		Opcode: bth.ReadRequest, Migrated: true, PKey: bth.DefaultPKey, AckReq: true,
		QP: r.cfg.QP, PSN: r.wire.psn(r.sent),
		RETH: bth.RETH{
			Addr: q.wr.Remote.Offset + uint64(off), RKey: uint32(q.wr.Remote.STag),
			Len: uint32(min(int(n)*r.cfg.MTU, q.length-off)),
		},
	}
	if _, ok := out.Packet(h, 0); !ok {
		return false
	}
	if r.sent < r.top {
		r.cfg.Traffic.Retransmitted()
	} else {
		r.timeout.begin(r.sent+1, now)
	}
	r.reads = append(r.reads, r.sent+n)
	if i, known := slices.BinarySearch(r.bounds, r.sent+n); !known {
		r.bounds = slices.Insert(r.bounds, i, r.sent+n)
	}
	return true
}
