package rc

import "github.com/rpcrdma/go-rpcrdma/transport/roce/bth"

// outcome is what has become of a packet of a request. It decides what the packet is answered by:
//
//	outcome                 answer                        PSN of the answer
//	executed                none
//	executedAsks, repeated  acknowledgement               last packet of a Send or RDMA Write
//	reading                 response, which acknowledges  each packet of the response
//	postponed               NAK: sequence, or not ready   expected packet
//	refused                 NAK, again for each packet    expected packet
//
// A repeated RDMA Read is answered by its response once more, or refused at a packet of it
// (refuseAgain). All answers have the number of messages that are complete then (MSN). A Read
// counts once it is checked.
//
// So an acknowledgement never has the PSN of a Read, not even if Reads have been answered behind
// the last Send or Write. To rdma_rxe, an acknowledgement with the last PSN of a Read completes
// that Read, although its response may be lost; and one with another PSN that it waits for ends the
// connection. Its responder keeps the same rule (ack_psn in Linux's rxe_resp.c).
type outcome uint8

const (
	executed     outcome = iota // a packet of a Send or RDMA Write
	executedAsks                // one that requests an acknowledgement
	reading                     // an RDMA Read
	repeated                    // a packet of a Send or RDMA Write that came before
	postponed                   // not taken: the peer is to send it again
	refused                     // not taken: the connection ends
)

// settle notes how a packet is to be answered. The syndrome is that of a NAK.
func (r *Responder) settle(o outcome, s bth.Syndrome) {
	switch o {
	case executed:
		if r.due != 0 { // if it was a NAK, the packet it asked for has come
			r.due = bth.ACK
		}
	case executedAsks:
		r.due = bth.ACK
	case reading:
		r.due = 0 // the response acknowledges
	case repeated:
		if r.due == 0 { // a NAK acknowledges, too
			r.due = bth.ACK
		}
	case postponed:
		r.due = s
		r.cfg.Traffic.SentNAK(s)
	case refused:
		r.due, r.refusal = s, s
		r.cfg.Traffic.SentNAK(s)
	}
}

// acknowledgement returns the PSN and the AETH of what is due.
func (r *Responder) acknowledgement() (psn uint32, aeth bth.AETH) {
	n := r.expected
	if r.due.IsACK() {
		n = r.taken - 1
	}
	return r.wire.psn(n), bth.AETH{Syndrome: r.due, MSN: r.complete}
}

// Fill sends responses to RDMA Reads, and then an acknowledgement. It reports whether there is more
// that out has no room for. An error ends the connection: memory being read was revoked.
func (r *Responder) Fill(out Outbox) (more bool, err error) {
	for r.answers.Len() > 0 && !r.Refused() {
		a := r.answers.At(0)
		for a.sent < a.packets {
			if ok, err := r.respond(a, out); !ok {
				return err == nil, err
			}
		}
		r.answers.Pop()
	}
	if r.due == 0 {
		return false, nil
	}
	psn, aeth := r.acknowledgement()
	r.header = bth.Packet{
		Opcode: bth.Acknowledge, Migrated: true, PKey: bth.DefaultPKey, QP: r.peer.QP,
		PSN: psn, AETH: aeth,
	}
	if _, ok := out.Packet(&r.header, 0); !ok {
		return true, nil
	}
	r.due = 0
	return false, nil
}

// respond sends a packet of the response to an RDMA Read.
func (r *Responder) respond(a *answer, out Outbox) (ok bool, err error) {
	off := int(a.sent) * r.peer.MTU
	n := min(r.peer.MTU, a.length-off)
	h := &r.header
	*h = bth.Packet{
		Opcode: bth.ReadMiddle, Migrated: true, PKey: bth.DefaultPKey, QP: r.peer.QP,
		PSN: r.wire.psn(a.first + a.sent), AETH: bth.AETH{Syndrome: bth.ACK, MSN: a.msn},
	}
	switch first, last := a.sent == 0, a.sent == packetsOf(a.length, r.peer.MTU)-1; {
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
	if err != nil { // revoked meanwhile
		out.Undo()
		if a.again {
			return r.refuseAgain(a, err, out), nil
		}
		r.expected = a.first + a.sent // the packet that is refused
		r.settle(refused, bth.NAKAccess)
		return false, err
	}
	r.cfg.Traffic.Sent.Add(uint64(n))
	a.sent++
	return true, nil
}

// refuseAgain refuses a repeated request for a response, because its memory is gone. A peer that
// has received the response meanwhile, because it asked too early, ignores this. Otherwise the peer
// ends the connection.
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
