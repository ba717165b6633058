package rc

import (
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// notReadyWait is the waiting time for a peer whose message finds no memory.
const notReadyWait = 640 * time.Microsecond

// mostPackets is the maximum number of packets in the response to one RDMA Read. With more than
// half of the PSNs, old packets and new ones could not be told apart.
const mostPackets = 1 << 22

// mostAhead is how far ahead of the expected packet another one may be that the peer sends while it
// waits for answers. Our Requester has 256 packets in flight, responses to RDMA Reads included, and
// rdma_rxe 128. Adapters have more, but the packet behind a gap is as close as the gap is wide: one
// RDMA Read of 64 MiB, with a path MTU of 1024. A peer that skips more gets no NAK, and sends again
// after its timeout. Whoever guesses at PSNs mostly hits those further ahead.
const mostAhead = 1 << 16

// tellAgain is how long a NAK for a gap is the only one: by then a Requester has sent again.
const tellAgain = mostTimeout

// mostLength is the maximum length of a request in bytes (IBTA section 9.7.4.1.6).
const mostLength = 1<<31 - 1

// ResponderConfig configures a Responder.
type ResponderConfig struct {
	Depth       int // receives that can be posted or promised
	PeerTimeout time.Duration

	Table   *stag.Table
	Traffic *Traffic
}

// Peer is what a Responder must know of its peer.
type Peer struct {
	QP    uint32
	PSN   uint32 // of its first packet
	MTU   int    // path MTU in bytes
	Reads int    // RDMA Reads that it may have outstanding
}

// Responder carries out the peer's requests.
type Responder struct {
	cfg   ResponderConfig
	peer  Peer
	wire  numbering
	ready bool

	receives ring.Ring[*transport.RecvRequest]
	promised int

	expected uint64 // number of the next packet
	taken    uint64 // number behind the last packet of a Send or RDMA Write; 0: none came
	complete uint32 // completed messages, modulo 2^24

	told     time.Time // when the peer was told to send the expected packet again; zero: not yet
	progress time.Time // when the last expected packet came

	// The message being received.
	message kind
	receive *transport.RecvRequest
	place   cursor // in receive
	got     int    // bytes received
	room    int    // bytes that still fit
	tag     transport.STag
	addr    uint64 // destination of the rest of an RDMA Write
	left    int    // bytes left of an RDMA Write

	arrived []transport.Message

	// What must be sent.
	answers ring.Ring[answer]
	due     bth.Syndrome // of the acknowledgement or NAK behind the responses; 0: none is due
	refusal bth.Syndrome // the NAK that ended the connection; 0: none
	late    error        // why a repeated response was refused

	header bth.Packet
	list   [1]transport.Slice
}

// kind is the kind of a message.
type kind uint8

const (
	noMessage kind = iota
	aSend
	aWrite
)

// answer is the response to an RDMA Read.
type answer struct {
	first, packets, sent uint64 // first packet number, packets in all, packets sent
	tag                  transport.STag
	addr                 uint64
	length               int // bytes
	msn                  uint32
	again                bool // a repeated request
}

// NewResponder returns a Responder without a peer. It only takes receives and promises.
func NewResponder(cfg ResponderConfig) *Responder {
	return &Responder{cfg: cfg, receives: ring.New[*transport.RecvRequest](cfg.Depth)}
}

// Connect gives the Responder its peer, which has sent nothing yet.
func (r *Responder) Connect(p Peer) {
	r.peer, r.wire = p, numbering{p.PSN}
	r.answers = ring.New[answer](2 * max(p.Reads, 1))
}

// Start allows messages. Before, the peer is told to send them later.
func (r *Responder) Start() { r.ready = true }

// RecvRoom reports whether n more receives can be posted or promised.
func (r *Responder) RecvRoom(n int) bool { return r.receives.Room(n + r.promised) }

// PostRecv posts a receive. The caller has checked RecvRoom.
func (r *Responder) PostRecv(q *transport.RecvRequest) { r.receives.Push(q) }

// Promise promises n receives. The caller has checked RecvRoom.
func (r *Responder) Promise(n int) { r.promised += n }

// Wants reports whether a packet begins a message that needs a promised receive. Take must then be
// given one.
func (r *Responder) Wants(h *bth.Packet) bool {
	return r.ready && !r.Refused() && r.promised > 0 && r.receives.Len() == 0 &&
		beginsSend(h.Opcode) && r.message == noMessage && r.Expects(h)
}

// Expects reports whether a request has the expected PSN. Somebody who only guesses at PSNs hardly
// meets it.
func (r *Responder) Expects(h *bth.Packet) bool { return h.PSN == r.wire.psn(r.expected) }

func beginsSend(o bth.Opcode) bool {
	switch o {
	case bth.SendFirst, bth.SendOnly, bth.SendOnlyImmediate, bth.SendOnlyInvalidate:
		return true
	}
	return false
}

// Refused reports whether a request of the peer was refused. That is the last thing the peer is
// told.
func (r *Responder) Refused() bool { return r.refusal != 0 }

// LateRefusal returns why a repeated response was refused, or nil. It matters if the peer then ends
// the connection. The peer may already have had the response.
func (r *Responder) LateRefusal() error { return r.late }

// Arrived returns the messages received since the last call. They are valid until the next call.
func (r *Responder) Arrived() []transport.Message {
	all := r.arrived
	r.arrived = r.arrived[:0]
	return all
}

// Take takes a request of the peer. If Wants reported true, promised is the receive, or nil if
// there is no memory. An error ends the connection; the request is refused.
func (r *Responder) Take(h *bth.Packet, promised *transport.RecvRequest, now time.Time) error {
	if r.Refused() {
		r.due = r.refusal // repeat the NAK
		return nil
	}
	near := r.wire.near(r.expected, h.PSN)
	switch {
	case near < 0:
		r.cfg.Traffic.Duplicate()
		r.again(h, uint64(-near))
		return nil
	case near > 0:
		r.cfg.Traffic.OutOfSequence()
		if near <= mostAhead && (r.told.IsZero() || now.Sub(r.told) >= tellAgain) {
			r.told = now
			r.settle(postponed, bth.NAKSequence)
		}
		return nil
	}
	r.progress = now
	s, err := r.request(h, promised)
	switch {
	case err != nil:
		r.settle(refused, s)
		return err
	case s != 0: // an RNR NAK
		r.told = now
		r.settle(postponed, s)
		return nil
	}
	r.told, r.late = time.Time{}, nil
	switch {
	case h.Opcode == bth.ReadRequest:
		r.settle(reading, 0)
	case h.AckReq:
		r.settle(executedAsks, 0)
	default:
		r.settle(executed, 0)
	}
	return nil
}

// PeerDeadline returns when to call Overdue, if nothing comes. Zero means never.
func (r *Responder) PeerDeadline() time.Time {
	if r.message == noMessage {
		return time.Time{}
	}
	return r.progress.Add(r.cfg.PeerTimeout)
}

// Overdue fails with ErrTimeout if the peer has begun a message and not gone on for too long. A
// Requester would have given up by then. A gap between messages is not overdue: anybody could have
// sent what came behind it.
func (r *Responder) Overdue(now time.Time) error {
	if d := r.PeerDeadline(); d.IsZero() || now.Before(d) {
		return nil
	}
	return fmt.Errorf("%w: the rest of a message does not come", ErrTimeout)
}

// again takes a duplicate packet, back packets before the expected one.
func (r *Responder) again(h *bth.Packet, back uint64) {
	if back > r.expected { // no such packet
		return
	}
	if h.Opcode != bth.ReadRequest {
		// A number behind the last Send or RDMA Write was that of an RDMA Read.
		if _, _, what := position(h.Opcode); what != noMessage && r.expected-back < r.taken {
			r.settle(repeated, 0)
		}
		return
	}
	// The peer has lost the response or a part of it, and asks for that now. It will also ask for
	// what follows it.
	first, length := r.expected-back, int(h.RETH.Len)
	if h.RETH.Len > mostLength {
		return
	}
	n := packetsOf(length, r.peer.MTU)
	if n > back {
		return
	}
	for range r.answers.Len() {
		a, _ := r.answers.Pop()
		if a.first < first {
			a.packets = min(a.packets, first-a.first)
			r.answers.Push(a)
		}
	}
	if r.answers.Room(1) {
		r.answers.Push(answer{
			first: first, packets: n, tag: transport.STag(h.RETH.RKey), addr: h.RETH.Addr,
			length: length, msn: r.complete, again: true,
		})
	}
}

// request carries out the expected packet. It returns the NAK for it, if any. With an error the NAK
// ends the connection; without one it is an RNR NAK.
func (r *Responder) request(h *bth.Packet, promised *transport.RecvRequest) (bth.Syndrome, error) {
	first, last, what := position(h.Opcode)
	n := len(h.Payload)
	switch {
	case h.RETH.Len > mostLength:
		return bth.NAKInvalid, fmt.Errorf("%w: a request of %d bytes", ErrProtocol, h.RETH.Len)
	case h.Opcode == bth.ReadRequest:
		if r.message != noMessage {
			return bth.NAKInvalid, fmt.Errorf("%w: an RDMA Read inside a message", ErrProtocol)
		}
		if !r.ready {
			return bth.RNRAfter(notReadyWait), nil
		}
		return r.read(h)
	case what == noMessage:
		return bth.NAKInvalid, fmt.Errorf("%w: unsupported opcode %#x", ErrProtocol, uint8(h.Opcode))
	case first != (r.message == noMessage), !first && r.message != what:
		return bth.NAKInvalid, fmt.Errorf("%w: unexpected opcode %#x", ErrProtocol, uint8(h.Opcode))
	case n > r.peer.MTU, !last && n != r.peer.MTU, !first && n == 0:
		return bth.NAKInvalid, fmt.Errorf("%w: a packet of %d bytes", ErrProtocol, n)
	case what == aWrite:
		return r.write(h, first, last)
	}
	return r.send(h, first, last, promised)
}

// position returns the position of a packet in its message, and the kind of message.
func position(o bth.Opcode) (first, last bool, what kind) {
	switch o {
	case bth.SendFirst:
		return true, false, aSend
	case bth.SendMiddle:
		return false, false, aSend
	case bth.SendLast, bth.SendLastImmediate, bth.SendLastInvalidate:
		return false, true, aSend
	case bth.SendOnly, bth.SendOnlyImmediate, bth.SendOnlyInvalidate:
		return true, true, aSend
	case bth.WriteFirst:
		return true, false, aWrite
	case bth.WriteMiddle:
		return false, false, aWrite
	case bth.WriteLast:
		return false, true, aWrite
	case bth.WriteOnly:
		return true, true, aWrite
	}
	return false, false, noMessage
}

// send takes a packet of a Send. It drops immediate data: package transport has none.
func (r *Responder) send(h *bth.Packet, first, last bool, promised *transport.RecvRequest) (
	bth.Syndrome, error) {
	if first {
		if !r.ready {
			return bth.RNRAfter(notReadyWait), nil
		}
		q := promised
		if q != nil {
			r.promised--
		} else if posted, ok := r.receives.Pop(); ok {
			q = posted
		} else if r.promised > 0 {
			return bth.RNRAfter(notReadyWait), nil
		} else {
			return bth.NAKOperation, transport.ErrNoReceive
		}
		r.message, r.receive, r.got, r.room = aSend, q, 0, transport.TotalLen(q.Local)
		r.place.seek(q.Local, 0)
	}
	if len(h.Payload) > r.room {
		return bth.NAKInvalid, transport.ErrTooLong
	}
	invalidates := h.Opcode == bth.SendLastInvalidate || h.Opcode == bth.SendOnlyInvalidate
	if invalidates {
		if err := r.cfg.Table.Invalidate(transport.STag(h.Invalidate)); err != nil {
			return bth.NAKAccess, err
		}
	}
	r.place.write(h.Payload)
	r.cfg.Traffic.Received.Add(uint64(len(h.Payload)))
	r.got += len(h.Payload)
	r.room -= len(h.Payload)
	r.expected++
	r.taken = r.expected
	if last {
		r.arrived = append(r.arrived, transport.Message{
			Receive: r.receive, Len: r.got, Invalidated: transport.STag(h.Invalidate),
			HasInvalidate: invalidates, Solicited: h.Solicited,
		})
		r.concluded()
	}
	return 0, nil
}

// concluded notes the end of a message.
func (r *Responder) concluded() {
	r.message, r.receive = noMessage, nil
	r.complete = (r.complete + 1) & bth.Mask24
}

// write takes a packet of an RDMA Write. It checks all of the memory before it writes any.
func (r *Responder) write(h *bth.Packet, first, last bool) (bth.Syndrome, error) {
	n := len(h.Payload)
	if first {
		r.tag, r.addr, r.left = transport.STag(h.RETH.RKey), h.RETH.Addr, int(h.RETH.Len)
		err := r.cfg.Table.Check(r.tag, transport.RemoteWrite, r.addr, uint64(r.left))
		if err != nil {
			return bth.NAKAccess, err
		}
		r.message = aWrite
	}
	if n > r.left || last && n != r.left {
		return bth.NAKInvalid, fmt.Errorf("%w: the length of an RDMA Write differs from its header", ErrProtocol)
	}
	if err := r.cfg.Table.Place(r.tag, r.addr, h.Payload); err != nil {
		return bth.NAKAccess, err // revoked meanwhile
	}
	r.cfg.Traffic.Received.Add(uint64(n))
	r.addr += uint64(n)
	r.left -= n
	r.expected++
	r.taken = r.expected
	if last {
		r.concluded()
	}
	return 0, nil
}

// read takes an RDMA Read.
func (r *Responder) read(h *bth.Packet) (bth.Syndrome, error) {
	under := 0 // responses under way, by the peer's count
	for i := range r.answers.Len() {
		if !r.answers.At(i).again {
			under++
		}
	}
	if under >= r.peer.Reads || !r.answers.Room(1) {
		return bth.NAKInvalid, transport.ErrTooManyReads
	}
	tag, length := transport.STag(h.RETH.RKey), int(h.RETH.Len)
	err := r.cfg.Table.Check(tag, transport.RemoteRead, h.RETH.Addr, uint64(length))
	if err != nil {
		return bth.NAKAccess, err
	}
	n := packetsOf(length, r.peer.MTU)
	if n > mostPackets {
		return bth.NAKInvalid, fmt.Errorf("%w: an RDMA Read of %d bytes", ErrProtocol, length)
	}
	r.complete = (r.complete + 1) & bth.Mask24
	r.answers.Push(answer{
		first: r.expected, packets: n, tag: tag, addr: h.RETH.Addr, length: length, msn: r.complete,
	})
	r.expected += n
	return 0, nil
}
