package rc

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

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

// TestMalformed: a request that comes out of place, or whose length is wrong there, is refused, and
// ends the connection.
func TestMalformed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		opcodes []bth.Opcode
		lengths []int
		reth    uint32 // length of an RDMA Write
		want    bth.Syndrome
	}{
		{"middle of a Send first", []bth.Opcode{bth.SendMiddle}, []int{testMTU}, 0, bth.NAKInvalid},
		{"last of a Send first", []bth.Opcode{bth.SendLast}, []int{1}, 0, bth.NAKInvalid},
		{"last of a Write first", []bth.Opcode{bth.WriteLast}, []int{1}, 0, bth.NAKInvalid},
		{"Send inside a Send", []bth.Opcode{bth.SendFirst, bth.SendOnly}, []int{testMTU, 1}, 0,
			bth.NAKInvalid},
		{"Write inside a Send", []bth.Opcode{bth.SendFirst, bth.WriteOnly}, []int{testMTU, 1}, 1,
			bth.NAKInvalid},
		{"last of a Write inside a Send", []bth.Opcode{bth.SendFirst, bth.WriteLast},
			[]int{testMTU, 1}, 1, bth.NAKInvalid},
		{"last of a Send inside a Write", []bth.Opcode{bth.WriteFirst, bth.SendLast},
			[]int{testMTU, 1}, testMTU + 1, bth.NAKInvalid},
		{"Read inside a Send", []bth.Opcode{bth.SendFirst, bth.ReadRequest}, []int{testMTU, 0}, 1,
			bth.NAKInvalid},
		{"short first", []bth.Opcode{bth.SendFirst}, []int{testMTU - 4}, 0, bth.NAKInvalid},
		{"short middle", []bth.Opcode{bth.SendFirst, bth.SendMiddle}, []int{testMTU, testMTU - 4}, 0,
			bth.NAKInvalid},
		{"empty last", []bth.Opcode{bth.SendFirst, bth.SendLast}, []int{testMTU, 0}, 0, bth.NAKInvalid},
		{"longer than the path MTU", []bth.Opcode{bth.SendOnly}, []int{testMTU + 4}, 0, bth.NAKInvalid},
		{"Write of less than it says", []bth.Opcode{bth.WriteOnly}, []int{3}, 4, bth.NAKInvalid},
		{"Write of more than it says", []bth.Opcode{bth.WriteOnly}, []int{5}, 4, bth.NAKInvalid},
		{"Write of more packets than it says",
			[]bth.Opcode{bth.WriteFirst, bth.WriteMiddle, bth.WriteMiddle},
			[]int{testMTU, testMTU, testMTU}, 2 * testMTU, bth.NAKInvalid},
		{"Write with immediate", []bth.Opcode{bth.WriteOnlyImmediate}, []int{4}, 4, bth.NAKInvalid},
		{"last of a Write with immediate", []bth.Opcode{bth.WriteFirst, bth.WriteLastImmediate},
			[]int{testMTU, 4}, testMTU + 4, bth.NAKInvalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, 1)
			p.b.PostRecv(&transport.RecvRequest{Local: memory(4 * testMTU)})
			target := make([]byte, 4*testMTU)
			r := p.b.expose(t, target, transport.RemoteWrite|transport.RemoteRead)
			for i, o := range tt.opcodes {
				h := p.request(o, i, bytes.Repeat([]byte{1}, tt.lengths[i]))
				h.RETH = bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: tt.reth}
				if p.b.err != nil {
					t.Fatalf("packet %d: %v", i-1, p.b.err)
				}
				p.arrive(p.b, h)
			}
			last := len(tt.opcodes) - 1
			all := p.sentBy(p.b)
			if len(all) != 1 || all[0].AETH.Syndrome != tt.want ||
				all[0].PSN != p.b.Responder.wire.psn(uint64(last)) {
				t.Errorf("sent %+v, want %v of packet %d", all, tt.want, last)
			}
			if !errors.Is(p.b.err, ErrProtocol) || len(p.b.messages) > 0 {
				t.Errorf("got error %v and %d messages", p.b.err, len(p.b.messages))
			}
			if len(tt.opcodes) == 1 && !bytes.Equal(target, make([]byte, len(target))) {
				t.Error("memory was written")
			}
		})
	}
}

// TestPSNs: a duplicate is acknowledged, a gap is reported once, and what can be neither is
// dropped.
func TestPSNs(t *testing.T) {
	p := newPair(t, 1)
	target := make([]byte, 8)
	r := p.b.expose(t, target, transport.RemoteWrite)
	take := func(n, value int) *bth.Packet {
		t.Helper()
		h := p.request(bth.WriteOnly, n, []byte{byte(value)})
		h.RETH = bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: 1}
		p.arrive(p.b, h)
		all := p.sentBy(p.b)
		switch len(all) {
		case 0:
			return nil
		case 1:
			return &all[0].Packet
		}
		t.Fatalf("%d packets", len(all))
		return nil
	}
	psn := p.b.Responder.wire.psn
	for n := range 20 { // beyond 2^24
		if h := take(n, n); h == nil || h.PSN != psn(uint64(n)) || h.AETH.MSN != uint32(n+1) ||
			h.AETH.Syndrome != bth.ACK {
			t.Fatalf("packet %d was answered with %+v", n, h)
		}
	}
	if h := take(3, 99); h == nil || h.PSN != psn(19) || h.AETH.MSN != 20 || target[0] != 19 {
		t.Errorf("an old packet was answered with %+v; memory has %d", h, target[0])
	}
	if h := take(22, 99); h == nil || h.PSN != psn(20) || h.AETH.Syndrome != bth.NAKSequence {
		t.Errorf("a gap was answered with %+v", h)
	}
	for n := 23; n < 26; n++ {
		if h := take(n, 99); h != nil {
			t.Errorf("packet %d behind the gap was answered with %+v", n, h)
		}
	}
	if h := take(20, 20); h == nil || h.PSN != psn(20) || h.AETH.Syndrome != bth.ACK {
		t.Errorf("what was missing was answered with %+v", h)
	}
	if h := take(22, 99); h == nil || h.AETH.Syndrome != bth.NAKSequence {
		t.Errorf("another gap was answered with %+v", h)
	}
	if h := take(-1, 99); h != nil || target[0] != 20 {
		t.Errorf("a packet that never was is answered with %+v", h)
	}
}

// TestNotSentAgain: a peer is given up if it does not send again what was lost, or does not send
// the rest of a message. It has PeerTimeout from the last useful packet.
func TestNotSentAgain(t *testing.T) {
	only := func(n int) func(p *pair) *bth.Packet {
		return func(p *pair) *bth.Packet { return p.request(bth.SendOnly, n, []byte("x")) }
	}
	first := func(p *pair) *bth.Packet { return p.request(bth.SendFirst, 0, make([]byte, testMTU)) }
	last := func(p *pair) *bth.Packet { return p.request(bth.SendLast, 1, []byte("x")) }
	type packets []func(p *pair) *bth.Packet
	for name, tt := range map[string]struct {
		packets packets // one every ten seconds
		owed    bool    // something after these
	}{
		"nothing lost":          {packets{only(0), only(1)}, false},
		"not sent again":        {packets{only(1)}, true},
		"one not sent again":    {packets{only(1), only(0)}, true},
		"both sent again":       {packets{only(1), only(0), only(1)}, false},
		"progress":              {packets{only(3), only(0), only(1), only(2)}, true},
		"the rest is missing":   {packets{first}, true},
		"the rest comes":        {packets{first, last}, false},
		"an old one is nothing": {packets{only(0), only(2), only(0)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 1)
			for range 10 {
				p.b.PostRecv(&transport.RecvRequest{Local: memory(1000)})
			}
			wanted := p.now
			for i, packet := range tt.packets {
				if i > 0 {
					p.now = p.now.Add(10 * time.Second)
				}
				expected, owed := p.b.expected, p.b.owed()
				p.arrive(p.b, packet(p))
				if !owed || p.b.expected > expected {
					wanted = p.now
				}
				if p.b.err != nil {
					t.Fatal(p.b.err)
				}
			}
			end := p.b.PeerDeadline()
			if !tt.owed {
				if !end.IsZero() || p.b.Overdue(p.now.Add(time.Hour)) != nil {
					t.Errorf("something is waited for until %v", end)
				}
				return
			}
			if want := wanted.Add(15 * time.Second); !end.Equal(want) {
				t.Errorf("the peer has until %v, want %v", end, want)
			}
			if err := p.b.Overdue(end.Add(-1)); err != nil {
				t.Errorf("before: %v", err)
			}
			if err := p.b.Overdue(end); !errors.Is(err, ErrTimeout) {
				t.Errorf("then: %v, want %v", err, ErrTimeout)
			}
		})
	}
}

// TestAcknowledges: one acknowledgement covers everything received. None is sent without a request
// for it, and none after a response to an RDMA Read.
func TestAcknowledges(t *testing.T) {
	p := newPair(t, 1)
	target := make([]byte, testMTU+1)
	r := p.b.expose(t, target, transport.RemoteWrite|transport.RemoteRead)
	reth := bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: 1}
	for n := range 5 {
		h := p.request(bth.WriteOnly, n, []byte{1})
		h.RETH = reth
		p.arrive(p.b, h)
	}
	all := p.sentBy(p.b)
	if len(all) != 1 || all[0].PSN != p.b.Responder.wire.psn(4) || all[0].AETH.MSN != 5 {
		t.Errorf("five packets were acknowledged by %+v", all)
	}
	quiet := p.request(bth.WriteOnly, 5, []byte{1})
	quiet.RETH, quiet.AckReq = reth, false
	p.arrive(p.b, quiet)
	if all := p.sentBy(p.b); len(all) > 0 {
		t.Errorf("sent %+v, which was not wanted", all)
	}
	read := p.request(bth.ReadRequest, 6, nil)
	read.RETH = bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: testMTU + 1}
	p.arrive(p.b, read)
	all = p.sentBy(p.b)
	if len(all) != 2 || all[0].Opcode != bth.ReadFirst || all[1].Opcode != bth.ReadLast ||
		all[0].PSN != p.b.Responder.wire.psn(6) || all[1].PSN != p.b.Responder.wire.psn(7) ||
		all[0].AETH != (bth.AETH{Syndrome: bth.ACK, MSN: 7}) {
		t.Errorf("an RDMA Read was answered with %+v", all)
	}
}

// TestReadAgain: a repeated RDMA Read, of all or of the end, is carried out again. If its memory is
// gone, it is refused.
func TestReadAgain(t *testing.T) {
	p := newPair(t, 1)
	data := random(p.rng, 3*testMTU)
	r := p.b.expose(t, data, transport.RemoteRead)
	for _, tt := range []struct {
		first int // packet
		want  []bth.Opcode
	}{
		{0, []bth.Opcode{bth.ReadFirst, bth.ReadMiddle, bth.ReadLast}},
		{0, []bth.Opcode{bth.ReadFirst, bth.ReadMiddle, bth.ReadLast}},
		{1, []bth.Opcode{bth.ReadFirst, bth.ReadLast}},
		{2, []bth.Opcode{bth.ReadOnly}},
	} {
		h := p.request(bth.ReadRequest, tt.first, nil)
		off := tt.first * testMTU
		h.RETH = bth.RETH{
			Addr: r.Base + uint64(off), RKey: uint32(r.STag), Len: uint32(len(data) - off),
		}
		p.arrive(p.b, h)
		all := p.sentBy(p.b)
		if len(all) != len(tt.want) {
			t.Fatalf("from packet %d: %d packets, want %d", tt.first, len(all), len(tt.want))
		}
		for i := range all {
			at := off + i*testMTU
			if all[i].Opcode != tt.want[i] || all[i].PSN != p.b.Responder.wire.psn(uint64(tt.first+i)) ||
				!bytes.Equal(all[i].Payload, data[at:at+testMTU]) {
				t.Errorf("from packet %d: packet %d is %+v", tt.first, i, all[i])
			}
		}
	}
	if p.b.err != nil || p.b.complete != 1 {
		t.Errorf("error %v, %d messages complete", p.b.err, p.b.complete)
	}
	longer := p.request(bth.ReadRequest, 0, nil)
	longer.RETH = bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: 4 * testMTU}
	p.arrive(p.b, longer)
	if all := p.sentBy(p.b); len(all) > 0 {
		t.Errorf("a longer RDMA Read with an old number was answered with %+v", all)
	}
}

// TestTooManyReads: an RDMA Read beyond the responder resources is refused.
func TestTooManyReads(t *testing.T) {
	p := newPair(t, 1)
	r := p.b.expose(t, make([]byte, 8), transport.RemoteRead)
	for n := range 5 {
		h := p.request(bth.ReadRequest, n, nil)
		h.RETH = bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: 8}
		p.arrive(p.b, h)
	}
	if !errors.Is(p.b.err, transport.ErrTooManyReads) || p.b.counts.sent[0] != bth.NAKInvalid {
		t.Errorf("error %v, NAKs %v", p.b.err, p.b.counts.sent)
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

// TestImmediate: a Send with immediate data is accepted, without that data.
func TestImmediate(t *testing.T) {
	p := newPair(t, 1)
	p.b.PostRecv(&transport.RecvRequest{Local: memory(8)})
	h := p.request(bth.SendOnlyImmediate, 0, []byte("abc"))
	h.Immediate = 7
	p.arrive(p.b, h)
	if len(p.b.messages) != 1 || string(p.b.messages[0]) != "abc" || p.b.err != nil {
		t.Errorf("messages %q, error %v", p.b.messages, p.b.err)
	}
}

// TestNotStarted: before Start an end is not ready for Sends and RDMA Reads, but carries out RDMA
// Writes.
func TestNotStarted(t *testing.T) {
	for _, tt := range []struct {
		o    bth.Opcode
		want bth.Syndrome
	}{
		{bth.SendOnly, bth.RNRAfter(notReadyWait)}, {bth.ReadRequest, bth.RNRAfter(notReadyWait)},
		{bth.WriteOnly, bth.ACK},
	} {
		p := newPair(t, 1)
		p.b.ready = false
		p.b.PostRecv(&transport.RecvRequest{Local: memory(8)})
		r := p.b.expose(t, make([]byte, 1), transport.RemoteRead|transport.RemoteWrite)
		h := p.request(tt.o, 0, make([]byte, 1))
		h.RETH = bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: 1}
		p.arrive(p.b, h)
		all := p.sentBy(p.b)
		if len(all) != 1 || all[0].AETH.Syndrome != tt.want || p.b.err != nil {
			t.Errorf("opcode %#x: sent %+v, error %v; want %v", uint8(tt.o), all, p.b.err, tt.want)
		}
	}
}

// TestPackets: the packets of each kind of request.
func TestPackets(t *testing.T) {
	remote := transport.Remote{STag: 0x11223344, Offset: 1 << 40}
	reth := func(n uint32) bth.RETH { return bth.RETH{Addr: 1 << 40, RKey: 0x11223344, Len: n} }
	type want struct {
		o     bth.Opcode
		n     int
		ack   bool
		extra bth.Packet
	}
	for _, tt := range []struct {
		name string
		wr   transport.WorkRequest
		n    int
		want []want
	}{
		{"Send of nothing", transport.WorkRequest{Op: transport.OpSend}, 0,
			[]want{{bth.SendOnly, 0, true, bth.Packet{}}}},
		{"solicited Send", transport.WorkRequest{Op: transport.OpSend, Flags: transport.Solicited},
			2*testMTU + 1, []want{
				{bth.SendFirst, testMTU, false, bth.Packet{}},
				{bth.SendMiddle, testMTU, false, bth.Packet{}},
				{bth.SendLast, 1, true, bth.Packet{Solicited: true}}}},
		{"Send of a full packet", transport.WorkRequest{Op: transport.OpSend}, testMTU,
			[]want{{bth.SendOnly, testMTU, true, bth.Packet{}}}},
		{"Send with Invalidate", transport.WorkRequest{Op: transport.OpSendInvalidate, Invalidate: 9},
			testMTU + 1, []want{
				{bth.SendFirst, testMTU, false, bth.Packet{}},
				{bth.SendLastInvalidate, 1, true, bth.Packet{Invalidate: 9}}}},
		{"short Send with Invalidate",
			transport.WorkRequest{Op: transport.OpSendInvalidate, Invalidate: 9}, 1,
			[]want{{bth.SendOnlyInvalidate, 1, true, bth.Packet{Invalidate: 9}}}},
		{"Write", transport.WorkRequest{Op: transport.OpWrite, Remote: remote}, 2*testMTU + 1, []want{
			{bth.WriteFirst, testMTU, false, bth.Packet{RETH: reth(2*testMTU + 1)}},
			{bth.WriteMiddle, testMTU, false, bth.Packet{}},
			{bth.WriteLast, 1, true, bth.Packet{}}}},
		{"short Write", transport.WorkRequest{Op: transport.OpWrite, Remote: remote}, 1,
			[]want{{bth.WriteOnly, 1, true, bth.Packet{RETH: reth(1)}}}},
		{"Read", transport.WorkRequest{Op: transport.OpRead, Remote: remote}, 2*testMTU + 1,
			[]want{{bth.ReadRequest, 0, true, bth.Packet{RETH: reth(2*testMTU + 1)}}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, 1)
			tt.wr.Local = memory(tt.n)
			p.a.Post(&tt.wr)
			all := p.sentBy(p.a)
			if len(all) != len(tt.want) {
				t.Fatalf("%d packets, want %d", len(all), len(tt.want))
			}
			for i, w := range tt.want {
				got := all[i]
				if got.Opcode != w.o || len(got.Payload) != w.n || got.AckReq != w.ack ||
					got.RETH != w.extra.RETH || got.Invalidate != w.extra.Invalidate ||
					got.Solicited != w.extra.Solicited || got.PSN != p.a.Requester.wire.psn(uint64(i)) ||
					got.QP != 2 || got.PKey != bth.DefaultPKey || !got.Migrated {
					t.Errorf("packet %d is %+v", i, got.Packet)
				}
			}
		})
	}
}

// TestAnswers: how a requester reacts to acknowledgements and responses.
func TestAnswers(t *testing.T) {
	const acked, waits, ended = "acknowledged", "waits", "ended"
	for _, tt := range []struct {
		name    string
		o       bth.Opcode
		psn     uint32 // from that of the first of two Sends on
		s       bth.Syndrome
		first   string // what has become of the first
		wantErr error
	}{
		{"acknowledgement", bth.Acknowledge, 0, bth.ACK, acked, nil},
		{"acknowledgement of both", bth.Acknowledge, 1, bth.ACK, acked, nil},
		{"acknowledgement with credits", bth.Acknowledge, 0, 3, acked, nil},
		{"acknowledgement without credits", bth.Acknowledge, 0, 0, acked, nil},
		{"acknowledgement of what was not sent", bth.Acknowledge, 2, bth.ACK, waits, nil},
		{"acknowledgement of what is long gone", bth.Acknowledge, 0xFFFFFF, bth.ACK, waits, nil},
		{"reserved syndrome", bth.Acknowledge, 0, 0x40, waits, nil},
		{"reserved bit", bth.Acknowledge, 0, 0x80, waits, nil},
		{"NAK of the second", bth.Acknowledge, 1, bth.NAKSequence, acked, nil},
		{"reserved NAK", bth.Acknowledge, 0, 0x7F, ended, ErrProtocol},
		{"operational error", bth.Acknowledge, 0, bth.NAKOperation, ended, transport.ErrNoReceive},
		{"access error of the second", bth.Acknowledge, 1, bth.NAKAccess, acked,
			transport.ErrRemoteAccess},
		{"response to a Send", bth.ReadOnly, 0, bth.ACK, ended, ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, 1)
			p.a.Post(send([]byte("first")))
			p.a.Post(send([]byte("second")))
			p.sentBy(p.a)
			p.arrive(p.a, &bth.Packet{
				Opcode: tt.o, PSN: (0xFFFFF0 + tt.psn) & bth.Mask24, AETH: bth.AETH{Syndrome: tt.s},
			})
			if !errors.Is(p.a.err, tt.wantErr) {
				t.Errorf("error %v, want %v", p.a.err, tt.wantErr)
			}
			if _, ok := p.a.PopDone(); ok != (tt.first == acked) {
				t.Errorf("the first is acknowledged: %v, want it %s", ok, tt.first)
			}
		})
	}
}

// TestResponses: after a gap in the response to an RDMA Read, the missing part is requested. A
// response of a wrong length ends the connection.
func TestResponses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n       int // packet of the response
		length  int
		again   bool
		wantErr error
	}{
		{"gap", 1, testMTU, true, nil},
		{"shorter", 0, testMTU - 4, false, ErrProtocol},
		{"longer", 0, testMTU + 4, false, ErrProtocol},
		{"right", 0, testMTU, false, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, 1)
			wr := write(transport.Region{STag: 1}, 0, make([]byte, 3*testMTU))
			wr.Op = transport.OpRead
			p.a.Post(wr)
			p.sentBy(p.a)
			p.arrive(p.a, &bth.Packet{
				Opcode: bth.ReadFirst, PSN: p.a.Requester.wire.psn(uint64(tt.n)),
				Payload: make([]byte, tt.length),
			})
			if !errors.Is(p.a.err, tt.wantErr) {
				t.Errorf("error %v, want %v", p.a.err, tt.wantErr)
			}
			if tt.wantErr != nil {
				return
			}
			all := p.sentBy(p.a)
			if tt.again != (len(all) == 1) {
				t.Errorf("sent %+v; asked again: want %v", all, tt.again)
			}
		})
	}
}

// TestReadBounds: a repeated request for a part of an RDMA Read ends where the first one ended, so
// that to the peer it is wholly old or wholly new.
func TestReadBounds(t *testing.T) {
	p := newPair(t, 1)
	const packets = 200
	data := random(p.rng, packets*testMTU)
	r := p.b.expose(t, data, transport.RemoteRead)
	target := make([]byte, len(data))
	wr := write(r, 0, target)
	wr.Op = transport.OpRead
	ends := make(map[uint64]bool)
	parts := 0
	p.drop = func(k *packet) bool {
		if k.Opcode == bth.ReadRequest {
			parts++
			first := uint64(p.a.Requester.wire.near(0, k.PSN))
			last := first + packetsOf(int(k.RETH.Len), testMTU)
			for end := range ends {
				if first < end && end < last {
					t.Errorf("a part from %d to %d reaches across %d", first, last, end)
				}
			}
			ends[last] = true
		}
		return p.rng.IntN(20) == 0
	}
	p.a.Post(wr)
	p.run()
	if p.a.err != nil || !bytes.Equal(target, data) || parts < packets/64 {
		t.Errorf("error %v, equal %v, %d parts", p.a.err, bytes.Equal(target, data), parts)
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

// TestTimeouts: unacknowledged packets are sent again, each time after twice as long, up to 2 s.
func TestTimeouts(t *testing.T) {
	p := newPair(t, 1)
	var at []time.Time
	p.drop = func(*packet) bool {
		at = append(at, p.now)
		return true
	}
	p.a.Post(send([]byte("x")))
	p.run()
	var waits []time.Duration
	for i := range at[1:] {
		waits = append(waits, at[i+1].Sub(at[i]).Round(10*time.Millisecond))
	}
	want := "[100ms 200ms 400ms 800ms 1.6s 2s 2s"
	if got := fmt.Sprint(waits); len(got) < len(want) || got[:len(want)] != want {
		t.Errorf("sent again after %v, want %s ...", waits, want)
	}
}

// TestCongested: a congestion notification halves the window, once in a round trip.
func TestCongested(t *testing.T) {
	p := newPair(t, 1)
	p.a.Post(send(make([]byte, 100*testMTU)))
	n := len(p.sentBy(p.a))
	for range 3 {
		p.a.Congested()
	}
	if got := p.a.window.size; n != 64 || got != 32 {
		t.Errorf("%d packets sent, and the window is %v after notices; want 64 and 32", n, got)
	}
	p.arrive(p.a, &bth.Packet{
		Opcode: bth.Acknowledge, PSN: p.a.Requester.wire.psn(63), AETH: bth.AETH{Syndrome: bth.ACK},
	})
	p.sentBy(p.a)
	before := p.a.window.size
	p.a.Congested()
	if got := p.a.window.size; got != before/2 {
		t.Errorf("the window is %v, and after a notice in the next round trip %v", before, got)
	}
}
