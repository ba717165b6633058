package rc

import (
	"fmt"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// notReadyWait is what a peer is asked to wait whose message finds no memory.
const notReadyWait = 640 * time.Microsecond

// mostPackets is the most that the response to one RDMA Read may have: beyond half of what PSNs
// tell apart, old ones and new ones could not be.
const mostPackets = 1 << 22

// mostLength is the most bytes of a request (IBTA section 9.7.4.1.6).
const mostLength = 1<<31 - 1

// ResponderConfig is what a Responder is made with.
type ResponderConfig struct {
	QP    uint32 // of the peer
	PSN   uint32 // of the first packet that comes
	MTU   int    // path MTU in bytes
	Depth int    // receives that can be posted or promised
	Reads int    // RDMA Reads that the peer may have outstanding

	PeerTimeout time.Duration

	Table   *stag.Table
	Traffic *Traffic
}

// Responder carries out the peer's requests.
type Responder struct {
	cfg   ResponderConfig
	wire  numbering
	ready bool

	receives ring.Ring[*transport.RecvRequest]
	promised int

	expected uint64 // the next packet
	complete uint32 // messages, modulo 2^24
	told     bool   // the peer was told that it is to send the expected packet

	ahead    uint64    // behind the last packet that came out of sequence, which is to come again
	progress time.Time // the expected packet came, or the first one out of sequence

	// The message under way.
	message kind
	receive *transport.RecvRequest
	place   cursor // in it
	got     int    // bytes of it
	room    int    // bytes more that fit
	tag     transport.STag
	addr    uint64 // where the rest of an RDMA Write goes
	left    int    // bytes of that

	arrived []transport.Message

	// What is to be sent.
	answers ring.Ring[answer]
	due     bool         // an acknowledgement of all that is before expected, or a NAK
	nak     bth.Syndrome // of the expected packet; 0: none
	fatal   bool         // that NAK is the last word
	late    error        // what the peer was told about the response that it asked for again

	header bth.Packet
	list   [1]transport.Slice
}

// kind is the kind of a message of several packets.
type kind uint8

const (
	noMessage kind = iota
	aSend
	aWrite
)

// answer is the response to an RDMA Read.
type answer struct {
	first, packets, sent uint64 // numbers of packets: the first, how many, and how many are sent
	tag                  transport.STag
	addr                 uint64
	length               int // bytes
	msn                  uint32
	again                bool // the peer has asked before
}

// NewResponder returns a Responder of a peer that has sent nothing.
func NewResponder(cfg ResponderConfig) *Responder {
	return &Responder{
		cfg: cfg, wire: numbering{cfg.PSN},
		receives: ring.New[*transport.RecvRequest](cfg.Depth),
		answers:  ring.New[answer](2 * max(cfg.Reads, 1)),
	}
}

// Start has messages taken. Until then the peer is told to send them later.
func (r *Responder) Start() { r.ready = true }

// RecvRoom reports whether n more receives can be posted or promised.
func (r *Responder) RecvRoom(n int) bool { return r.receives.Room(n + r.promised) }

// PostRecv posts a receive, for which there is room.
func (r *Responder) PostRecv(q *transport.RecvRequest) { r.receives.Push(q) }

// Promise promises n receives, for which there is room.
func (r *Responder) Promise(n int) { r.promised += n }

// Wants reports whether a packet begins a message for which a receive was promised, and none is
// posted: Take is to be given one.
func (r *Responder) Wants(h *bth.Packet) bool {
	return r.ready && !r.fatal && r.promised > 0 && r.receives.Len() == 0 && beginsSend(h.Opcode) &&
		r.message == noMessage && h.PSN == r.wire.psn(r.expected)
}

func beginsSend(o bth.Opcode) bool {
	switch o {
	case bth.SendFirst, bth.SendOnly, bth.SendOnlyImmediate, bth.SendOnlyInvalidate:
		return true
	}
	return false
}

// Refused reports whether a request of the peer's was refused, which is the last that it is told.
func (r *Responder) Refused() bool { return r.fatal }

// LateRefusal returns why the peer, if it has ended the connection now, was refused a response that
// it has asked for again, or nil. It may have had it already.
func (r *Responder) LateRefusal() error { return r.late }

// Arrived returns the messages that have arrived since it was called last. They are valid until
// then.
func (r *Responder) Arrived() []transport.Message {
	all := r.arrived
	r.arrived = r.arrived[:0]
	return all
}

// Take takes a request of the peer's. The receive is for Wants, and nil if there is no memory. An
// error ends the connection: the request is refused.
func (r *Responder) Take(h *bth.Packet, promised *transport.RecvRequest, now time.Time) error {
	if r.fatal {
		r.due = true // say it again
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
		if !r.owed() {
			r.progress = now
		}
		r.ahead = max(r.ahead, r.expected+uint64(near)+1)
		if !r.told {
			r.told, r.nak, r.due = true, bth.NAKSequence, true
			r.cfg.Traffic.SentNAK(r.nak)
		}
		return nil
	}
	r.progress = now
	s, err := r.request(h, promised)
	switch {
	case err != nil:
		r.nak, r.fatal, r.due = s, true, true
		r.cfg.Traffic.SentNAK(s)
		return err
	case s != 0: // an RNR NAK
		r.nak, r.told, r.due = s, true, true
		r.cfg.Traffic.SentNAK(s)
		return nil
	}
	r.told, r.nak, r.late = false, 0, nil
	if h.Opcode == bth.ReadRequest {
		r.due = false // the response is an acknowledgement
	} else if h.AckReq {
		r.due = true
	}
	return nil
}

// owed reports whether the peer is to send something: what was lost, or the rest of a message.
func (r *Responder) owed() bool { return r.expected < r.ahead || r.message != noMessage }

// PeerDeadline is when Overdue is to be called, if nothing comes; zero is never.
func (r *Responder) PeerDeadline() time.Time {
	if !r.owed() {
		return time.Time{}
	}
	return r.progress.Add(r.cfg.PeerTimeout)
}

// Overdue returns ErrTimeout if the peer has not sent what it is to send, for too long. A Requester
// would have given up by then. Linux's rdma_rxe (6.1) stops instead: behind a Send that was lost it
// carries out once more all that is queued. Registrations of memory fail then, which it does not
// always report.
func (r *Responder) Overdue(now time.Time) error {
	if d := r.PeerDeadline(); d.IsZero() || now.Before(d) {
		return nil
	}
	return fmt.Errorf("%w: what was lost is not sent again", ErrTimeout)
}

// again takes a packet that has come before, back from the expected one.
func (r *Responder) again(h *bth.Packet, back uint64) {
	if back > r.expected { // it was never there
		return
	}
	if h.Opcode != bth.ReadRequest {
		r.due = true
		return
	}
	// The response was lost, or a part of it, which the peer asks for now. It will ask for what is
	// behind it, too.
	first, length := r.expected-back, int(h.RETH.Len)
	if h.RETH.Len > mostLength {
		return
	}
	n := packetsOf(length, r.cfg.MTU)
	if n > back || length < 0 { // where an int has 32 bits
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

// request carries out the expected packet. It returns the NAK for it: with an error if that ends
// the connection, else one for a receiver that is not ready.
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
		return bth.NAKInvalid, fmt.Errorf("%w: opcode %#x", ErrProtocol, uint8(h.Opcode))
	case first != (r.message == noMessage), !first && r.message != what:
		return bth.NAKInvalid, fmt.Errorf("%w: opcode %#x out of place", ErrProtocol, uint8(h.Opcode))
	case n > r.cfg.MTU, !last && n != r.cfg.MTU, !first && n == 0:
		return bth.NAKInvalid, fmt.Errorf("%w: a packet of %d bytes", ErrProtocol, n)
	case what == aWrite:
		return r.write(h, first, last)
	}
	return r.send(h, first, last, promised)
}

// position says where in a message a packet is, and in what kind of message.
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

// send takes a packet of a Send. Immediate data is dropped: package transport has none.
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
	if last {
		r.arrived = append(r.arrived, transport.Message{
			Receive: r.receive, Len: r.got, Invalidated: transport.STag(h.Invalidate),
			HasInvalidate: invalidates, Solicited: h.Solicited,
		})
		r.concluded()
	}
	return 0, nil
}

// concluded takes note of the end of a message.
func (r *Responder) concluded() {
	r.message, r.receive = noMessage, nil
	r.complete = (r.complete + 1) & bth.Mask24
}

// write takes a packet of an RDMA Write. All of the memory is checked before any of it is written.
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
		return bth.NAKInvalid, fmt.Errorf("%w: an RDMA Write of another length than it says", ErrProtocol)
	}
	if err := r.cfg.Table.Place(r.tag, r.addr, h.Payload); err != nil {
		return bth.NAKAccess, err // it has been revoked meanwhile
	}
	r.cfg.Traffic.Received.Add(uint64(n))
	r.addr += uint64(n)
	r.left -= n
	r.expected++
	if last {
		r.concluded()
	}
	return 0, nil
}

// read takes an RDMA Read.
func (r *Responder) read(h *bth.Packet) (bth.Syndrome, error) {
	under := 0 // way, of those that the peer may believe to be so
	for i := range r.answers.Len() {
		if !r.answers.At(i).again {
			under++
		}
	}
	if under >= r.cfg.Reads || !r.answers.Room(1) {
		return bth.NAKInvalid, transport.ErrTooManyReads
	}
	tag, length := transport.STag(h.RETH.RKey), int(h.RETH.Len)
	err := r.cfg.Table.Check(tag, transport.RemoteRead, h.RETH.Addr, uint64(length))
	if err != nil {
		return bth.NAKAccess, err
	}
	n := packetsOf(length, r.cfg.MTU)
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

// Fill sends responses to RDMA Reads, and behind them an acknowledgement. It reports whether there
// is more for which out has no room. An error ends the connection: memory that is being read is
// gone.
func (r *Responder) Fill(out Outbox) (more bool, err error) {
	for r.answers.Len() > 0 && !r.fatal {
		a := r.answers.At(0)
		for a.sent < a.packets {
			if ok, err := r.respond(a, out); !ok {
				return err == nil, err
			}
		}
		r.answers.Pop()
	}
	if !r.due {
		return false, nil
	}
	h := &r.header
	*h = bth.Packet{
		Opcode: bth.Acknowledge, Migrated: true, PKey: bth.DefaultPKey, QP: r.cfg.QP,
		PSN: r.wire.psn(r.expected), AETH: bth.AETH{Syndrome: r.nak, MSN: r.complete},
	}
	if r.nak == 0 {
		h.PSN, h.AETH.Syndrome = r.wire.psn(r.expected-1), bth.ACK
	}
	if _, ok := out.Packet(h, 0); !ok {
		return true, nil
	}
	r.due = false
	if !r.fatal {
		r.nak = 0
	}
	return false, nil
}

// respond sends a packet of the response to an RDMA Read.
func (r *Responder) respond(a *answer, out Outbox) (ok bool, err error) {
	off := int(a.sent) * r.cfg.MTU
	n := min(r.cfg.MTU, a.length-off)
	h := &r.header
	*h = bth.Packet{
		Opcode: bth.ReadMiddle, Migrated: true, PKey: bth.DefaultPKey, QP: r.cfg.QP,
		PSN: r.wire.psn(a.first + a.sent), AETH: bth.AETH{Syndrome: bth.ACK, MSN: a.msn},
	}
	switch first, last := a.sent == 0, a.sent == packetsOf(a.length, r.cfg.MTU)-1; {
	case first && last:
		h.Opcode = bth.ReadOnly
	case first:
		h.Opcode = bth.ReadFirst
	case last:
		h.Opcode = bth.ReadLast
	}
	p, ok := out.Packet(h, n)
	if !ok {
		return false, nil
	}
	r.list[0].Bytes = p
	err = r.cfg.Table.Read(r.list[:], a.tag, a.addr+uint64(off))
	r.list[0].Bytes = nil
	if err != nil { // it has been revoked meanwhile
		out.Undo()
		if a.again {
			return r.refuseAgain(a, err, out), nil
		}
		r.expected = a.first + a.sent // which is what is refused
		r.nak, r.fatal, r.due = bth.NAKAccess, true, true
		r.cfg.Traffic.SentNAK(r.nak)
		return false, err
	}
	r.cfg.Traffic.Sent.Add(uint64(n))
	a.sent++
	return true, nil
}

// refuseAgain tells the peer that there is no response any more to what it has asked for again. If
// it has got that meanwhile, as when it was too impatient, it does not heed this. If not, it ends
// the connection.
func (r *Responder) refuseAgain(a *answer, err error, out Outbox) (ok bool) {
	r.header.Opcode = bth.Acknowledge
	r.header.AETH.Syndrome = bth.NAKAccess
	if _, ok := out.Packet(&r.header, 0); !ok {
		return false
	}
	r.cfg.Traffic.SentNAK(bth.NAKAccess)
	r.late, a.sent = err, a.packets
	return true
}
