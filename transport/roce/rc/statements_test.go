package rc

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// sentBy returns what a side sends now.
func (p *pair) sentBy(s *side) (all []packet) {
	out := &outbox{most: 1000}
	if _, err := s.Responder.Fill(out); err != nil {
		s.failed(err)
		s.Responder.Fill(out)
	}
	s.Requester.Fill(out, p.now)
	return out.packets
}

// request is packet n of those that b expects.
func (p *pair) request(o bth.Opcode, n int, payload []byte) *bth.Packet {
	return &bth.Packet{
		Opcode: o, PSN: p.b.Responder.wire.psn(uint64(n)), Payload: payload, AckReq: true,
	}
}

// TestZeroLength: an RDMA Write or Read of length zero names no memory, and takes one packet.
func TestZeroLength(t *testing.T) {
	p := newPair(t, 1)
	w := write(transport.Region{STag: 77}, 0, nil)
	r := write(transport.Region{STag: 78}, 0, nil)
	r.Op = transport.OpRead
	p.a.Post(w)
	p.a.Post(r)
	all := p.sentBy(p.a)
	if len(all) != 2 || all[0].Opcode != bth.WriteOnly || all[1].Opcode != bth.ReadRequest ||
		all[1].PSN != p.a.Requester.wire.psn(1) {
		t.Fatalf("sent %+v", all)
	}
	for i, want := range []bth.Opcode{bth.Acknowledge, bth.ReadOnly} {
		p.arrive(p.b, &all[i].Packet)
		answers := p.sentBy(p.b)
		if len(answers) != 1 || answers[0].Opcode != want || p.b.err != nil {
			t.Fatalf("packet %d was answered with %+v, error %v", i, answers, p.b.err)
		}
		p.arrive(p.a, &answers[0].Packet)
	}
	if !p.a.Idle() {
		t.Error("not complete")
	}
}

// TestRefusedBehindRead: when a request is refused, unsent responses to RDMA Reads are dropped.
// Both ends learn that the connection has ended, and the requester takes its oldest request for the
// refused one.
func TestRefusedBehindRead(t *testing.T) {
	p := newPair(t, 1)
	r := p.b.expose(t, make([]byte, 8), transport.RemoteRead)
	read := write(r, 0, make([]byte, 8))
	read.Op = transport.OpRead
	p.a.Post(read)
	p.a.Post(write(transport.Region{STag: 77}, 0, []byte("x")))
	for _, k := range p.sentBy(p.a) {
		p.arrive(p.b, &k.Packet)
	}
	all := p.sentBy(p.b)
	if len(all) != 1 || all[0].AETH.Syndrome != bth.NAKAccess {
		t.Fatalf("sent %+v", all)
	}
	p.arrive(p.a, &all[0].Packet)
	if !errors.Is(p.a.err, transport.ErrRemoteAccess) || !errors.Is(p.b.err, transport.ErrRemoteAccess) {
		t.Errorf("errors %v and %v", p.a.err, p.b.err)
	}
}
