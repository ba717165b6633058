package rc

import (
	"fmt"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// This file has models of Linux's rdma_rxe, read off Linux 6.1 (drivers/infiniband/sw/rxe). They
// show what its faults make of our answers, and whether we stand its own.

// psnDiff is psn_compare of rxe_hdr.h.
func psnDiff(a, b uint32) int { return int(int32((a-b)<<8) >> 8) }

// States of a rxeRequest (wqe_state_*). A completed one has left the queue.
const (
	rxePosted = iota
	rxeProcessing
	rxePending
	rxeComplete
)

// rxeRequest is a work request (struct rxe_send_wqe).
type rxeRequest struct {
	op          transport.Op
	local       []byte
	remote      transport.Region
	state       int
	first, last uint32 // PSNs
	resid       int    // bytes not yet sent, or not yet received
}

// rxeRequester models the requester and the completer (rxe_req.c and rxe_comp.c).
type rxeRequester struct {
	queue    []*rxeRequest
	head     int // the oldest one that is not complete (the queue's consumer)
	next     int // the one to send (req.wqe_index)
	psn      uint32
	answered uint32 // comp.psn
	inside   bool   // a response: comp.opcode is first or middle
	retry    bool   // req.need_retry
	started  bool   // comp.started_retry
	err      error
}

func newRXERequester(psn uint32) *rxeRequester { return &rxeRequester{psn: psn, answered: psn} }

func (r *rxeRequester) post(op transport.Op, local []byte, remote transport.Region) *rxeRequest {
	q := &rxeRequest{op: op, local: local, remote: remote, resid: len(local)}
	r.queue = append(r.queue, q)
	return q
}

// goBack is req_retry.
func (r *rxeRequester) goBack() {
	r.retry = false
	r.next, r.psn = r.head, r.answered
	for i, q := range r.queue[r.head:] {
		if q.state == rxePosted {
			break
		}
		switch {
		case i > 0:
			q.resid = len(q.local)
		case q.op != transport.OpRead: // a Read goes on where its response has ended
			q.resid = len(q.local) - min(len(q.local), max(0, testMTU*psnDiff(r.answered, q.first)))
		}
		q.state = rxePosted
	}
}

// send returns the next packet, or nil (rxe_requester).
func (r *rxeRequester) send() *bth.Packet {
	if r.err != nil {
		return nil
	}
	if r.retry {
		r.goBack()
	}
	if r.next == len(r.queue) {
		return nil
	}
	q := r.queue[r.next]
	off := len(q.local) - q.resid
	h := &bth.Packet{
		PSN:  r.psn,
		RETH: bth.RETH{Addr: q.remote.Base + uint64(off), RKey: uint32(q.remote.STag), Len: uint32(q.resid)},
	}
	packets := uint32(packetsOf(q.resid, testMTU))
	starts := q.op == transport.OpRead || off == 0
	if starts {
		q.first, q.last = r.psn, (r.psn+packets-1)&bth.Mask24
	}
	ends := packets == 1 || q.op == transport.OpRead
	if q.op == transport.OpRead {
		h.Opcode = bth.ReadRequest
		r.psn = (q.first + packets) & bth.Mask24
	} else {
		h.Opcode = opcodeOf(q.op, starts, packets == 1)
		n := min(q.resid, testMTU)
		h.Payload = q.local[off : off+n]
		q.resid -= n
		r.psn = (r.psn + 1) & bth.Mask24
	}
	h.AckReq = ends
	if q.state != rxeComplete { // by an answer to its first packets
		q.state = rxeProcessing
		if ends {
			q.state = rxePending
		}
	}
	if ends {
		r.next++
	}
	return h
}

// timeout is the end of the retransmission timer.
func (r *rxeRequester) timeout() {
	if r.head < len(r.queue) && r.queue[r.head].state != rxePosted {
		r.again(true)
	}
}

// again is COMPST_ERROR_RETRY.
func (r *rxeRequester) again(timeout bool) {
	if r.started && !timeout {
		return
	}
	if psnDiff(r.psn, r.answered) > 0 {
		r.retry, r.started = true, true
	}
}

// update is COMPST_UPDATE_COMP.
func (r *rxeRequester) update(h *bth.Packet) {
	r.inside = h.Opcode == bth.ReadFirst || h.Opcode == bth.ReadMiddle
	if psnDiff(h.PSN, r.answered) >= 0 {
		r.answered = (h.PSN + 1) & bth.Mask24
	}
}

func (r *rxeRequester) completeHead() {
	r.queue[r.head].state = rxeComplete
	r.head++
}

// completeBy is complete_ack.
func (r *rxeRequester) completeBy(h *bth.Packet) {
	r.completeHead()
	if psnDiff(h.PSN, r.answered) >= 0 {
		r.update(h)
	}
}

// take is rxe_completer with an answer.
func (r *rxeRequester) take(h *bth.Packet) {
	if r.err != nil {
		return
	}
	if r.retry {
		r.goBack()
	}
	for {
		if r.head == len(r.queue) || r.queue[r.head].state == rxePosted {
			return
		}
		q := r.queue[r.head]
		// check_psn
		if psnDiff(h.PSN, q.last) <= 0 {
			r.takeFor(q, h)
			return
		}
		switch {
		case q.state != rxePending:
			return
		case q.op == transport.OpRead:
			r.again(false)
			return
		}
		r.started = false
		if psnDiff(q.last, r.answered) >= 0 { // complete_wqe
			r.answered, r.inside = (q.last+1)&bth.Mask24, false
		}
		r.completeHead()
	}
}

// takeFor takes an answer whose PSN is at most the last one of the oldest request: the rest of
// check_psn, check_ack and do_read.
func (r *rxeRequester) takeFor(q *rxeRequest, h *bth.Packet) {
	diff := psnDiff(h.PSN, r.answered)
	switch {
	case diff < 0 && h.PSN == q.last:
		r.completeBy(h)
		return
	case diff < 0, diff > 0 && q.op == transport.OpRead:
		return
	}
	first := h.Opcode == bth.ReadFirst && h.PSN == q.first
	only := h.Opcode == bth.ReadOnly && q.first == q.last
	last := h.Opcode == bth.ReadMiddle || h.Opcode == bth.ReadLast
	if r.inside && !first && !only && !last || !r.inside && last {
		r.err = fmt.Errorf("opcode %#x out of place", uint8(h.Opcode))
		return
	}
	if h.Opcode != bth.Acknowledge {
		n := len(h.Payload)
		if q.op != transport.OpRead || n > q.resid {
			r.err = fmt.Errorf("a response of %d bytes", n)
			return
		}
		r.started = false
		copy(q.local[len(q.local)-q.resid:], h.Payload)
		q.resid -= n
		if q.resid == 0 && (h.Opcode == bth.ReadLast || h.Opcode == bth.ReadOnly) {
			r.completeBy(h)
		} else {
			r.update(h)
		}
		return
	}
	switch s := h.AETH.Syndrome; {
	case s.IsACK(): // for a Read, too
		r.started = false
		if q.state == rxePending && h.PSN == q.last {
			r.completeBy(h)
		} else {
			r.update(h)
		}
	case s == bth.NAKSequence:
		if diff > 0 {
			r.answered = h.PSN
		}
		r.again(false)
	default:
		r.err = fmt.Errorf("refused: %v", s)
	}
}

// rxeResponder models the responder (rxe_resp.c).
type rxeResponder struct {
	byLast bool // acknowledges a repeated request with the last PSN, as before it had ack_psn
	psn    uint32
	acks   uint32 // ack_psn
	msn    uint32
	told   bool // sent_psn_nak

	reads   []rxeRead
	memory  map[uint32][]byte // by R_Key
	message []byte            // being received
	arrived [][]byte
	written []byte // rest of the memory of an RDMA Write
}

// rxeRead is what is kept of an RDMA Read (struct resp_res).
type rxeRead struct {
	first, last uint32 // PSNs
	addr        uint64
	length      int
	key         uint32
}

// take returns the answers to a request.
func (r *rxeResponder) take(h *bth.Packet) []*bth.Packet {
	_, last, what := position(h.Opcode)
	switch diff := psnDiff(h.PSN, r.psn); {
	case diff > 0 && r.told:
		return nil
	case diff > 0:
		r.told = true
		return []*bth.Packet{r.ack(r.psn, bth.NAKSequence)}
	case diff < 0 && what == noMessage:
		return r.replay(h)
	case diff < 0 && r.byLast:
		return []*bth.Packet{r.ack(r.psn-1, bth.ACK)}
	case diff < 0:
		return []*bth.Packet{r.ack(r.acks-1, bth.ACK)}
	}
	r.told = false
	switch {
	case what == noMessage:
		n := uint32(packetsOf(int(h.RETH.Len), testMTU))
		r.reads = append(r.reads, rxeRead{
			h.PSN, (h.PSN + n - 1) & bth.Mask24, h.RETH.Addr, int(h.RETH.Len), h.RETH.RKey,
		})
		r.msn++
		answers := r.response(h)
		r.psn = (h.PSN + n) & bth.Mask24
		return answers
	case what == aSend:
		r.message = append(r.message, h.Payload...)
		if last {
			r.arrived, r.message = append(r.arrived, r.message), nil
		}
	case h.RETH.RKey != 0:
		r.written = r.memory[h.RETH.RKey][h.RETH.Addr:]
		fallthrough
	default:
		r.written = r.written[copy(r.written, h.Payload):]
	}
	if last {
		r.msn++
	}
	r.psn = (h.PSN + 1) & bth.Mask24
	r.acks = r.psn
	if !h.AckReq {
		return nil
	}
	return []*bth.Packet{r.ack(h.PSN, bth.ACK)}
}

func (r *rxeResponder) ack(psn uint32, s bth.Syndrome) *bth.Packet {
	return &bth.Packet{
		Opcode: bth.Acknowledge, PSN: psn & bth.Mask24, AETH: bth.AETH{Syndrome: s, MSN: r.msn},
	}
}

// replay is duplicate_request for an RDMA Read.
func (r *rxeResponder) replay(h *bth.Packet) []*bth.Packet {
	i := slices.IndexFunc(r.reads, func(q rxeRead) bool {
		return psnDiff(h.PSN, q.first) >= 0 && psnDiff(h.PSN, q.last) <= 0
	})
	if i < 0 {
		return nil
	}
	q := &r.reads[i]
	if h.RETH.Addr < q.addr || int(h.RETH.Len) > q.length || h.RETH.RKey != q.key ||
		h.RETH.Addr+uint64(h.RETH.Len) > q.addr+uint64(q.length) {
		return nil
	}
	q.addr = h.RETH.Addr // it forgets what was ahead
	return r.response(h)
}

// response is read_reply. A response that begins in the middle begins as a middle packet.
func (r *rxeResponder) response(h *bth.Packet) (answers []*bth.Packet) {
	data := r.memory[h.RETH.RKey][h.RETH.Addr:][:h.RETH.Len]
	begins := slices.ContainsFunc(r.reads, func(q rxeRead) bool { return q.first == h.PSN })
	for i := range uint32(packetsOf(len(data), testMTU)) {
		n := min(len(data), testMTU)
		a := &bth.Packet{
			PSN: (h.PSN + i) & bth.Mask24, AETH: bth.AETH{Syndrome: bth.ACK, MSN: r.msn}, Payload: data[:n],
		}
		switch rest := len(data) > testMTU; {
		case begins && i == 0 && rest:
			a.Opcode = bth.ReadFirst
		case begins && i == 0:
			a.Opcode = bth.ReadOnly
		case rest:
			a.Opcode = bth.ReadMiddle
		default:
			a.Opcode = bth.ReadLast
		}
		data = data[n:]
		answers = append(answers, a)
	}
	return answers
}
