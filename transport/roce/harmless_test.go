package roce_test

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

func strays(s roce.Stats) uint64   { return s.Strays }
func bad(s roce.Stats) uint64      { return s.BadPackets }
func received(s roce.Stats) uint64 { return s.PacketsReceived }

// TestHarmless has a peer do things that a connection survives and that are counted.
func TestHarmless(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(*target)
		what func(roce.Stats) uint64
		n    uint64
	}{
		{"PSNs far ahead", func(x *target) {
			for _, d := range []uint32{1, 2, 1000, 1<<23 - 1} {
				x.packet(bth.Packet{Opcode: bth.SendOnly, PSN: (x.psn + d) & bth.Mask24, AckReq: true})
			}
			if h := x.nextRC(bth.Acknowledge); h.AETH.Syndrome != bth.NAKSequence || h.PSN != x.psn {
				x.t.Errorf("got %v of %#x, want a sequence NAK of %#x", h.AETH.Syndrome, h.PSN, x.psn)
			}
		}, func(s roce.Stats) uint64 { return s.OutOfSequence }, 4},
		{"PSNs that never were", func(x *target) {
			for _, d := range []uint32{1, 1000, 1 << 23} {
				x.packet(bth.Packet{Opcode: bth.SendOnly, PSN: (x.psn - d) & bth.Mask24, AckReq: true})
			}
		}, func(s roce.Stats) uint64 { return s.Duplicates }, 3},
		{"a Send twice", func(x *target) {
			h := bth.Packet{Opcode: bth.SendOnly, Payload: []byte("one"), PSN: x.psn, AckReq: true}
			x.request(h)
			x.packet(h)
			for range 2 {
				x.nextRC(bth.Acknowledge)
			}
			if got := wait(x.t, x.arrived); string(got) != "one" || len(x.arrived) != 0 {
				x.t.Errorf("got %q, and %d more", got, len(x.arrived))
			}
		}, func(s roce.Stats) uint64 { return s.Duplicates }, 1},
		{"a Read twice, and more of it", func(x *target) {
			h := reads(300)(x)
			h.PSN = x.psn
			x.packet(h)
			x.nextRC(bth.ReadLast)
			x.packet(h)
			x.nextRC(bth.ReadLast)
			h.RETH.Len = 1<<32 - 1
			x.packet(h)
			x.psn = (x.psn + 2) & bth.Mask24
		}, func(s roce.Stats) uint64 { return s.Duplicates }, 2},
		{"answers to nothing", func(x *target) {
			for _, s := range []bth.Syndrome{
				bth.ACK, bth.NAKSequence, bth.NAKAccess, bth.RNR, 0x40, 0xFF,
			} {
				for _, d := range []uint32{0, 1, 1 << 22, 1 << 23, bth.Mask24} {
					x.respond(x.want+d, s)
				}
			}
			x.packet(bth.Packet{Opcode: bth.ReadOnly, PSN: x.want, Payload: []byte{1}})
		}, received, 31},
		{"an acknowledgement of what is yet to be sent", func(x *target) {
			x.post(transport.OpSend, 1)
			h := x.nextRC(bth.SendOnly)
			x.respond(h.PSN+1, bth.ACK)
			x.respond(h.PSN+1, bth.NAKAccess)
			x.respond(h.PSN-1, bth.NAKAccess)
			if len(x.ended) != 0 {
				x.t.Error("it has completed")
			}
			x.respond(h.PSN, bth.ACK)
			if err := wait(x.t, x.ended); err != nil {
				x.t.Error(err)
			}
		}, received, 4},
		{"a storm of sequence NAKs", func(x *target) {
			x.post(transport.OpSend, 1)
			h := x.nextRC(bth.SendOnly)
			for range 1000 {
				x.respond(h.PSN, bth.NAKSequence)
			}
			x.nextRC(bth.SendOnly)
			x.respond(h.PSN, bth.ACK)
			if err := wait(x.t, x.ended); err != nil {
				x.t.Error(err)
			}
		}, func(s roce.Stats) uint64 { return s.NAKsReceived }, 1000},
		{"a response ahead of one that is missing", func(x *target) {
			x.post(transport.OpRead, 300)
			h := x.nextRC(bth.ReadRequest)
			x.packet(bth.Packet{Opcode: bth.ReadLast, PSN: h.PSN + 1, Payload: make([]byte, 44)})
			h = x.nextRC(bth.ReadRequest)
			for h.RETH.Len != 300 {
				h = x.nextRC(bth.ReadRequest)
			}
			x.packet(bth.Packet{Opcode: bth.ReadFirst, PSN: h.PSN, Payload: make([]byte, mtu)})
			x.packet(bth.Packet{Opcode: bth.ReadLast, PSN: h.PSN + 1, Payload: make([]byte, 44)})
			if err := wait(x.t, x.ended); err != nil {
				x.t.Error(err)
			}
		}, func(s roce.Stats) uint64 { return s.NAKsReceived }, 0},
		{"notices of congestion", func(x *target) {
			for range 100 {
				x.packet(bth.Packet{Opcode: bth.CNP, BECN: true, Payload: make([]byte, 16)})
			}
		}, func(s roce.Stats) uint64 { return s.CNPsReceived }, 100},
		{"queue pairs of nobody", func(x *target) {
			for _, qp := range []uint32{2, x.theirQP ^ 1, x.theirQP ^ 1<<23, bth.Mask24} {
				x.packet(bth.Packet{Opcode: bth.SendOnly, QP: qp, PSN: x.psn})
			}
			// Queue pair 0 is for subnet management, which RoCE lacks.
			x.bytes(x.path.AppendSum(encode(bth.Packet{Opcode: bth.SendOnly, PSN: x.psn}), 0, 0))
		}, strays, 5},
		// Limited and full members of the default partition hear each other. Other keys belong to
		// other partitions.
		{"partitions", func(x *target) {
			for _, key := range []uint16{1, 0x8001, 0xFFFE, 0x7FFE} {
				x.packet(bth.Packet{Opcode: bth.SendOnly, PKey: key, PSN: x.psn})
			}
			x.request(bth.Packet{Opcode: bth.WriteOnly, PKey: 0x7FFF})
		}, bad, 4},
		{"opcodes of others", func(x *target) {
			n := 0
			for o := range 256 {
				b := encode(bth.Packet{Opcode: bth.SendOnly, QP: x.theirQP, PSN: x.psn,
					Payload: make([]byte, 28)}) // room for any headers
				b[0] = byte(o)
				if _, err := bth.Parse(append(b, 0, 0, 0, 0)); errors.Is(err, bth.ErrOpcode) {
					x.bytes(x.path.AppendSum(b, 0, 0))
					n++
				}
			}
			if n != 232 {
				x.t.Errorf("%d opcodes are not known", n)
			}
			x.packet(bth.Packet{Opcode: bth.Datagram, PSN: x.psn, DETH: bth.DETH{QKey: cm.QKey}})
		}, bad, 233},
		{"a peer that has moved", func(x *target) {
			moved := *x.played
			moved.ip = netip.MustParseAddr("192.0.2.77")
			moved.path = bth.NewPath(netip.AddrPortFrom(moved.ip, roce.UDPPort),
				netip.AddrPortFrom(x.to, roce.UDPPort))
			moved.packet(bth.Packet{Opcode: bth.SendFirst, PSN: x.psn})
			moved.packet(bth.Packet{Opcode: bth.Acknowledge, PSN: x.want})
		}, strays, 2},
		{"another version", func(x *target) {
			b := encode(bth.Packet{Opcode: bth.SendOnly, QP: x.theirQP, PSN: x.psn})
			b[1] |= 1
			x.bytes(x.path.AppendSum(b, 0, 0))
		}, bad, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, roce.Config{})
			for _, connect := range r.roles() {
				p, ep := connect()
				x := aim(t, p, ep)
				before := r.counters.Stats()
				tt.do(x)
				r.gained(tt.name, tt.what, before, tt.n)
				x.alive()
				x.end()
				wait(t, ep.Done())
				if err := ep.Err(); !errors.Is(err, transport.ErrClosedByPeer) {
					t.Errorf("the connection has ended by %v", err)
				}
				r.unharmed()
			}
		})
	}
}

// TestGhosts has a peer send packets of its first connection on its second.
func TestGhosts(t *testing.T) {
	r := newRig(t, roce.Config{})
	for _, connect := range r.roles() {
		old, ep := connect()
		oldQP, oldPSN := old.theirQP, old.psn
		old.end()
		wait(t, ep.Done())
		hang.Until(t, "the connection is left", func() bool {
			conns, _, _, _ := r.hub.Left(server)
			return conns == 1
		})
		r.addr-- // the same host
		p, ep := connect()
		x := aim(t, p, ep)
		before := r.counters.Stats()
		for _, h := range []bth.Packet{
			{Opcode: bth.SendOnly, PSN: oldPSN, Payload: []byte("ghost")},
			{Opcode: bth.Acknowledge, PSN: 5, AETH: bth.AETH{Syndrome: bth.NAKAccess}},
			{Opcode: bth.ReadOnly, PSN: 5, Payload: []byte("ghost")},
		} {
			h.QP = oldQP
			x.packet(h)
		}
		r.gained("strays", strays, before, 3)
		p.mad(&cm.DREQ{Local: old.id, Remote: old.theirID, QP: oldQP})
		if m := nextMAD[*cm.DREP](p); m.Local != old.theirID {
			t.Errorf("got %+v", m)
		}
		x.alive()
		x.end()
		wait(t, ep.Done())
	}
}

// TestNeverReady has a peer that always says it is not ready, and one that says nothing.
func TestNeverReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, roce.Config{PeerTimeout: 50 * time.Millisecond})
		for name, answers := range map[string]bool{"not ready": true, "silent": false} {
			p, ep := r.asked()
			x := aim(t, p, ep)
			x.post(transport.OpSend, 1)
			for !isClosed(ep.Done()) {
				select {
				case <-ep.Done():
				default:
					h := p.next()
					if answers && h.Opcode == bth.SendOnly {
						p.respond(h.PSN, bth.RNR|10)
					}
				}
				if name == "silent" {
					wait(t, ep.Done())
				}
			}
			err := ep.Err()
			if !errors.Is(err, roce.ErrPeerTimeout) {
				t.Errorf("%s: %v", name, err)
			}
			if cerr := wait(t, x.ended); cerr == nil {
				t.Errorf("%s: the request has completed", name)
			}
			x.end()
		}
	})
}

// TestNotSentAgain has a peer that loses the rest of a Send, and does not send it again.
func TestNotSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, roce.Config{PeerTimeout: 50 * time.Millisecond})
		p, ep := r.asked()
		x := aim(t, p, ep)
		x.request(bth.Packet{Opcode: bth.SendFirst, Payload: make([]byte, mtu)})
		lost := p.psn
		p.psn = (p.psn + 1) & bth.Mask24
		p.request(bth.Packet{Opcode: bth.SendOnly, Payload: []byte("behind")})
		h := p.next()
		if h.Opcode != bth.Acknowledge || h.AETH.Syndrome != bth.NAKSequence || h.PSN != lost {
			t.Errorf("got %+v, want a NAK", h)
		}
		wait(t, ep.Done())
		if err := ep.Err(); !errors.Is(err, roce.ErrPeerTimeout) {
			t.Errorf("got %v, want %v", err, roce.ErrPeerTimeout)
		}
		nextMAD[*cm.DREQ](p)
		x.end()
	})
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestTruncated sends a device each kind of packet, truncated anywhere, with a correct ICRC and
// with none, and packets of random bytes.
func TestTruncated(t *testing.T) {
	r := newRig(t, roce.Config{})
	p, ep := r.asked()
	x := aim(t, p, ep)
	before := r.counters.Stats()
	var n uint64
	for o := range 256 {
		b := encode(bth.Packet{Opcode: bth.Opcode(o), QP: p.theirQP, PSN: p.psn})
		for cut := range len(b) {
			p.bytes(b[:cut])
			if cut > 0 { // an empty datagram is not counted
				n++
			}
			if cut >= bth.Len && cut%4 == 0 && cut < bth.Opcode(o).HeaderLen() {
				p.bytes(p.path.AppendSum(append([]byte(nil), b[:cut]...), 0, 0))
				n++
			}
		}
	}
	r.gained("bad packets", bad, before, n)
	x.alive()

	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 2000 {
		b := make([]byte, rng.IntN(400))
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		p.bytes(b)
		if len(b) < bth.Len {
			continue
		}
		b = b[:len(b)&^3]
		b[1], b[2], b[3] = b[1]&0xF0, 0xFF, 0xFF
		b[5], b[6], b[7] = byte(p.theirQP>>16), byte(p.theirQP>>8), byte(p.theirQP)
		p.bytes(p.path.AppendSum(b, 0, 0))
	}
	x.end()
	r.unharmed()
	wait(t, ep.Done()) // by a packet, or by the end
}
