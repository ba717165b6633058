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
		psn     uint32 // relative to the first PSN of two Sends
		s       bth.Syndrome
		first   string // outcome of the first
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

// TestReadAcknowledged: an acknowledgement with the PSN of an RDMA Read, or a later one, completes
// the requests before the Read. It does not complete the Read, which is requested again.
func TestReadAcknowledged(t *testing.T) {
	for n, name := range []string{"Send", "Read", "Read", "Read", "Write"} {
		t.Run(fmt.Sprintf("packet %d, of the %s", n, name), func(t *testing.T) {
			p := newPair(t, 1)
			read := write(transport.Region{STag: 1}, 0, make([]byte, 3*testMTU))
			read.Op = transport.OpRead
			first, last := send([]byte("x")), write(transport.Region{STag: 2}, 0, []byte("x"))
			for _, wr := range []*transport.WorkRequest{first, read, last} {
				p.a.Post(wr)
			}
			p.sentBy(p.a)
			psn := p.a.Requester.wire.psn
			p.arrive(p.a, &bth.Packet{
				Opcode: bth.Acknowledge, PSN: psn(uint64(n)), AETH: bth.AETH{Syndrome: bth.ACK},
			})
			if c, _ := p.a.PopDone(); c.WR != first || p.a.Completed() {
				t.Errorf("completed %+v, another: %v; want the Send alone", c, p.a.Completed())
			}
			again := p.sentBy(p.a)
			switch {
			case n == 0 && len(again) > 0:
				t.Errorf("sent %+v; the response may be on its way", again)
			case n > 0 && (len(again) != 2 || again[0].Opcode != bth.ReadRequest ||
				again[0].PSN != psn(1) || again[0].RETH.Len != 3*testMTU):
				t.Errorf("sent %+v, want the Read and the Write", again)
			}
		})
	}
}

// TestResponses: after a gap in the response to an RDMA Read, the missing part is requested. A
// response of a wrong length ends the connection.
func TestResponses(t *testing.T) {
	for _, tt := range []struct {
		name    string
		n       int // which packet of the response
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
