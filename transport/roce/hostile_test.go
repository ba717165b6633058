package roce_test

import (
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// mtu is the path MTU of played peers.
const mtu = 256

// target is the endpoint that a played peer attacks.
type target struct {
	*played
	ep      transport.Endpoint
	written transport.Region // 1024 bytes that the peer may write
	memory  []byte           // of these
	read    transport.Region // 1024 bytes that it may read
	arrived messages
	ended   completions
}

// aim makes a target of an endpoint, and posts four receives of 600 bytes.
func aim(t testing.TB, p *played, ep transport.Endpoint) *target {
	t.Helper()
	x := &target{played: p, ep: ep, arrived: make(messages, 16), ended: make(completions, 64)}
	for range 4 {
		if err := ep.PostRecv(&transport.RecvRequest{Local: memory(600)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range []struct {
		to     *transport.Region
		access transport.Access
	}{{&x.written, transport.RemoteWrite}, {&x.read, transport.RemoteRead}} {
		m := memory(1024)
		rs, err := ep.Expose(nil, m, w.access)
		if err != nil {
			t.Fatal(err)
		}
		*w.to = rs[0]
		if w.access == transport.RemoteWrite {
			x.memory = m[0].Bytes
		}
	}
	ep.Start(x.arrived)
	return x
}

// reth returns the header that names memory of a window.
func reth(r transport.Region, length uint32) bth.RETH {
	return bth.RETH{Addr: r.Base, RKey: uint32(r.STag), Len: length}
}

// post posts a request of the endpoint.
func (x *target) post(op transport.Op, n int) {
	x.t.Helper()
	err := x.ep.Post(&transport.WorkRequest{
		Op: op, Flags: transport.Signaled, Local: memory(n), Done: x.ended,
		Remote: transport.Remote{STag: 1, Offset: 2},
	})
	if err != nil {
		x.t.Fatal(err)
	}
}

// asks sends a request that must be refused with a NAK.
func asks(s bth.Syndrome, packets ...func(x *target) bth.Packet) func(*target) {
	return func(x *target) {
		x.t.Helper()
		psn := x.psn
		for i, f := range packets {
			h := f(x)
			if i == len(packets)-1 {
				psn = x.psn
			}
			x.request(h)
		}
		for {
			h := x.nextRC(bth.Acknowledge)
			if h.AETH.Syndrome == bth.ACK {
				continue
			}
			if h.AETH.Syndrome != s || h.PSN != psn {
				x.t.Errorf("got %v of packet %#x, want %v of %#x", h.AETH.Syndrome, h.PSN, s, psn)
			}
			return
		}
	}
}

func of(o bth.Opcode, n int) func(*target) bth.Packet {
	return func(*target) bth.Packet { return bth.Packet{Opcode: o, Payload: make([]byte, n)} }
}

// writes returns a packet of an RDMA Write.
func writes(o bth.Opcode, n int, length uint32) func(*target) bth.Packet {
	return func(x *target) bth.Packet {
		return bth.Packet{Opcode: o, RETH: reth(x.written, length), Payload: make([]byte, n)}
	}
}

// reads returns an RDMA Read.
func reads(length uint32) func(*target) bth.Packet {
	return func(x *target) bth.Packet {
		return bth.Packet{Opcode: bth.ReadRequest, RETH: reth(x.read, length)}
	}
}

// sends makes the endpoint send a message of two packets, and the peer answer with a syndrome.
func sends(s bth.Syndrome) func(*target) {
	return func(x *target) {
		x.post(transport.OpSend, mtu+1)
		x.respond(x.nextRC(bth.SendFirst).PSN, s)
	}
}

// isRead makes the endpoint read 300 bytes, and the peer answer with a packet.
func isRead(h bth.Packet) func(*target) {
	return func(x *target) {
		x.post(transport.OpRead, 300)
		h := h
		h.PSN = x.nextRC(bth.ReadRequest).PSN
		x.packet(h)
	}
}

// TestFatal has a peer do what ends its connection. A bad request gets its NAK.
func TestFatal(t *testing.T) {
	access, invalid := transport.ErrRemoteAccess, roce.ErrProtocol
	for _, tt := range []struct {
		name string
		do   func(*target)
		want error
	}{
		{"wrong R_Key of a Write", asks(bth.NAKAccess, func(x *target) bth.Packet {
			return bth.Packet{Opcode: bth.WriteOnly, RETH: bth.RETH{RKey: 1, Len: 1}, Payload: []byte{1}}
		}), access},
		{"R_Key to read, of a Write", asks(bth.NAKAccess, func(x *target) bth.Packet {
			return bth.Packet{Opcode: bth.WriteOnly, RETH: reth(x.read, 1), Payload: []byte{1}}
		}), access},
		{"R_Key to write, of a Read", asks(bth.NAKAccess, func(x *target) bth.Packet {
			return bth.Packet{Opcode: bth.ReadRequest, RETH: reth(x.written, 1)}
		}), access},
		{"Write ahead of its window", asks(bth.NAKAccess, func(x *target) bth.Packet {
			r := reth(x.written, 1)
			r.Addr--
			return bth.Packet{Opcode: bth.WriteOnly, RETH: r, Payload: []byte{1}}
		}), access},
		{"Write behind its window", asks(bth.NAKAccess, writes(bth.WriteFirst, mtu, 1025)), access},
		{"Read of 4 GB", asks(bth.NAKInvalid, reads(1<<32-1)), invalid},
		{"Read of 2 GB", asks(bth.NAKAccess, reads(1<<31-1)), access},
		{"invalidation of no R_Key", asks(bth.NAKAccess, func(*target) bth.Packet {
			return bth.Packet{Opcode: bth.SendOnlyInvalidate, Invalidate: 1}
		}), nil},
		{"short First of a Send", asks(bth.NAKInvalid, of(bth.SendFirst, mtu-4)), invalid},
		{"long First of a Send", asks(bth.NAKInvalid, of(bth.SendFirst, mtu+4)), invalid},
		{"long Only of a Send", asks(bth.NAKInvalid, of(bth.SendOnly, mtu+1)), invalid},
		{"short Middle of a Send", asks(bth.NAKInvalid, of(bth.SendFirst, mtu),
			of(bth.SendMiddle, 8)), invalid},
		{"empty Last of a Send", asks(bth.NAKInvalid, of(bth.SendFirst, mtu), of(bth.SendLast, 0)),
			invalid},
		{"Middle of nothing", asks(bth.NAKInvalid, of(bth.SendMiddle, mtu)), invalid},
		{"Last of nothing", asks(bth.NAKInvalid, of(bth.WriteLast, 1)), invalid},
		{"First inside a Send", asks(bth.NAKInvalid, of(bth.SendFirst, mtu), of(bth.SendFirst, mtu)),
			invalid},
		{"Write inside a Send", asks(bth.NAKInvalid, of(bth.SendFirst, mtu),
			of(bth.WriteMiddle, mtu)), invalid},
		{"Read inside a Write", asks(bth.NAKInvalid, writes(bth.WriteFirst, mtu, 2*mtu), reads(1)),
			invalid},
		{"Send longer than memory", asks(bth.NAKInvalid, of(bth.SendFirst, mtu),
			of(bth.SendMiddle, mtu), of(bth.SendLast, 600-2*mtu+1)), transport.ErrTooLong},
		{"Send without memory", asks(bth.NAKOperation, of(bth.SendOnly, 1), of(bth.SendOnly, 1),
			of(bth.SendOnly, 1), of(bth.SendOnly, 1), of(bth.SendOnly, 1)), transport.ErrNoReceive},
		{"more than the RETH says", asks(bth.NAKInvalid, writes(bth.WriteOnly, 5, 4)), invalid},
		{"less than the RETH says", asks(bth.NAKInvalid, writes(bth.WriteOnly, 4, 5)), invalid},
		{"a Write goes on", asks(bth.NAKInvalid, writes(bth.WriteFirst, mtu, mtu+1),
			of(bth.WriteMiddle, mtu)), invalid},
		{"First of a Write of nothing", asks(bth.NAKInvalid, writes(bth.WriteFirst, mtu, 0)), invalid},
		// No receive is posted for it; with NFS, rxe sends none.
		{"Write with immediate data", asks(bth.NAKInvalid, writes(bth.WriteOnlyImmediate, 4, 4)),
			invalid},

		{"compare and swap", asks(bth.NAKInvalid, of(bth.CompareSwap, 28)), invalid},
		{"fetch and add", asks(bth.NAKInvalid, of(bth.FetchAdd, 28)), invalid},

		{"invalid request", sends(bth.NAKInvalid), transport.ErrTerminated},
		{"remote access error", sends(bth.NAKAccess), access},
		{"remote operational error", sends(bth.NAKOperation), transport.ErrNoReceive},
		{"NAK of reliable datagrams", sends(bth.NAKInvalidRD), transport.ErrTerminated},
		{"response to a Send", func(x *target) {
			x.post(transport.OpSend, 1)
			psn := x.nextRC(bth.SendOnly).PSN
			x.packet(bth.Packet{Opcode: bth.ReadOnly, PSN: psn, Payload: []byte{1}})
		}, invalid},
		{"response longer than asked", isRead(bth.Packet{
			Opcode: bth.ReadFirst, Payload: make([]byte, mtu+1)}), invalid},
		{"response shorter than asked", isRead(bth.Packet{
			Opcode: bth.ReadOnly, Payload: make([]byte, 44)}), invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t, roce.Config{})
			for role, connect := range r.roles() {
				p, ep := connect()
				x := aim(t, p, ep)
				tt.do(x)
				wait(t, x.ep.Done())
				if err := x.ep.Err(); err == nil || tt.want != nil && !errors.Is(err, tt.want) {
					t.Errorf("%s: the connection has ended by %v, want %v", role, err, tt.want)
				}
				for _, b := range x.memory[mtu:] {
					if b != 0 {
						t.Errorf("%s: something was written", role)
					}
				}
				x.end()
				r.unharmed()
			}
		})
	}
}
