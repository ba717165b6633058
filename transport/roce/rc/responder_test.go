package rc

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// TestMalformed: a request that is out of place or has a wrong length is refused, and ends the
// connection.
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

// TestPSNs: a duplicate is acknowledged, a gap is reported once, and a packet that can be neither
// is dropped.
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

// TestNotSentAgain: a peer that does not send the rest of a message is given up. It has PeerTimeout
// from the last useful packet. Packets behind a gap, which anybody could have sent, change nothing.
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
		"not sent again":        {packets{only(1)}, false},
		"far ahead":             {packets{only(1 << 22), only(mostAhead)}, false},
		"the rest is missing":   {packets{first}, true},
		"a gap in the message":  {packets{first, only(3), only(2)}, true},
		"the rest comes":        {packets{first, last}, false},
		"an old one is nothing": {packets{only(0), only(2), only(0)}, false},
		"and delays nothing": {packets{only(0), func(p *pair) *bth.Packet {
			return p.request(bth.SendFirst, 1, make([]byte, testMTU))
		}, only(0)}, true},
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
				expected := p.b.expected
				p.arrive(p.b, packet(p))
				if p.b.expected > expected {
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

// TestAhead: a packet is ahead of a lost one if a peer could have so many in flight. The NAK for a
// gap is repeated after a while, for the next packet that is ahead.
func TestAhead(t *testing.T) {
	p := newPair(t, 1)
	for i, tt := range []struct {
		n     int // packet
		after time.Duration
		told  bool
	}{
		{mostAhead + 1, 0, false}, {1<<23 - 1, 0, false}, {mostAhead, 0, true}, {1, 0, false},
		{2, tellAgain - 1, false}, {2, 1, true}, {3, 0, false},
	} {
		p.now = p.now.Add(tt.after)
		p.arrive(p.b, p.request(bth.SendOnly, tt.n, nil))
		all := p.sentBy(p.b)
		if told := len(all) == 1 && all[0].AETH.Syndrome == bth.NAKSequence; told != tt.told ||
			len(all) > 1 {
			t.Errorf("packet %d: sent %+v", i, all)
		}
	}
	if n := p.b.counts.outOfSequence; n != 7 || p.b.err != nil {
		t.Errorf("%d are counted, error %v", n, p.b.err)
	}
}

// TestDeepReads: a peer loses some RDMA Reads, and more requests follow. A NAK for the first of
// these tells the peer, unless that is further ahead than mostAhead: then its timeout does. All is
// carried out when it comes again.
func TestDeepReads(t *testing.T) {
	for _, tt := range []struct {
		name   string
		lost   int // RDMA Reads
		length int // of each, in bytes
		told   bool
	}{
		{"one of 1 MiB", 1, 1 << 20, true},
		{"all four", 4, 4 << 20, true}, // as far as 16 of 1 MiB
		{"all that are near", 1, mostAhead * testMTU, true},
		{"one packet more", 1, mostAhead*testMTU + 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPair(t, 1)
			r := p.b.expose(t, make([]byte, tt.length), transport.RemoteRead)
			each := int(packetsOf(tt.length, testMTU))
			var all []*bth.Packet
			for i := range tt.lost {
				h := p.request(bth.ReadRequest, i*each, nil)
				h.RETH = bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: uint32(tt.length)}
				all = append(all, h)
			}
			for i := range 100 {
				h := p.request(bth.WriteOnly, tt.lost*each+i, nil)
				h.AckReq = true
				all = append(all, h)
			}
			for _, h := range all[tt.lost:] {
				p.arrive(p.b, h)
			}
			sent := p.sentBy(p.b)
			if told := len(sent) == 1 && sent[0].AETH.Syndrome == bth.NAKSequence &&
				sent[0].PSN == all[0].PSN; told != tt.told || !told && len(sent) > 0 {
				t.Fatalf("sent %+v", sent)
			}
			for _, h := range all {
				p.arrive(p.b, h)
			}
			if want := uint64(tt.lost*each + 100); p.b.err != nil || p.b.expected != want {
				t.Errorf("error %v, packet %d is expected, want %d", p.b.err, p.b.expected, want)
			}
		})
	}
}

// TestAcknowledges: one acknowledgement covers everything received. None is sent without a request
// for it. The response to an RDMA Read takes the place of one that is due for requests before it.
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
	for n := 8; n <= 10; n++ { // taken together
		h := p.request([...]bth.Opcode{bth.WriteOnly, bth.ReadRequest, bth.WriteOnly}[n-8], n, []byte{1})
		h.RETH = reth
		p.arrive(p.b, h)
		if n == 8 {
			continue
		}
		all = p.sentBy(p.b)
		if len(all) != 1 || all[0].Opcode != [...]bth.Opcode{bth.ReadOnly, bth.Acknowledge}[n-9] ||
			all[0].PSN != p.b.Responder.wire.psn(uint64(n)) {
			t.Errorf("packet %d was answered with %+v", n, all)
		}
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
