package roce_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// FuzzDevice feeds datagrams to a device with a live connection. The first byte of the input is the
// length of the first datagram in words of four bytes, and so on. Each datagram that is not for the
// connection manager gets the right queue pair, and each the right ICRC. In any case another
// connection is unharmed, and nothing is left.
func FuzzDevice(f *testing.F) {
	add := func(packets ...bth.Packet) {
		var in []byte
		for _, h := range packets {
			b := encode(h)
			in = append(append(in, byte(len(b)/4)), b...)
		}
		f.Add(in)
	}
	add(bth.Packet{Opcode: bth.SendOnly, Payload: []byte("abc"), AckReq: true},
		bth.Packet{Opcode: bth.WriteOnly, PSN: 1, AckReq: true},
		bth.Packet{Opcode: bth.ReadRequest, PSN: 2}, bth.Packet{Opcode: bth.ReadRequest, PSN: 1})
	add(bth.Packet{Opcode: bth.Acknowledge, PSN: 5, AETH: bth.AETH{Syndrome: bth.ACK}},
		bth.Packet{Opcode: bth.Acknowledge, PSN: 5, AETH: bth.AETH{Syndrome: bth.NAKSequence}},
		bth.Packet{Opcode: bth.ReadOnly, PSN: 6, Payload: []byte("abcd")})
	for _, m := range []cm.Message{
		&cm.REQ{CommID: 1, ServiceID: cm.ServiceID(service), QP: 2, MTU: 1,
			Private: cm.IP{Src: client, Dst: server}.Append(nil)},
		&cm.REP{Local: 1, Remote: 2, QP: 3}, &cm.RTU{Local: 1, Remote: 2}, &cm.MRA{Local: 1, Remote: 2},
		&cm.REJ{Local: 1, Remote: 2}, &cm.DREQ{Local: 1, Remote: 2, QP: 3},
		&cm.DREP{Local: 1, Remote: 2},
	} {
		add(bth.Packet{Opcode: bth.Datagram, QP: cm.QP, DETH: bth.DETH{QKey: cm.QKey},
			Payload: cm.Append(nil, m, 1)})
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r := newRig(t, roce.Config{})
		p, ep := r.asked()
		x := aim(t, p, ep)
		x.post(transport.OpSend, 1)
		x.post(transport.OpRead, 300)
		for len(in) > 0 {
			n := min(4*int(in[0]), (len(in)-1)&^3)
			b := append([]byte(nil), in[1:1+n]...)
			in = in[1+n:]
			if n >= bth.Len {
				if b[7] != cm.QP {
					b[5], b[6], b[7] = byte(p.theirQP>>16), byte(p.theirQP>>8), byte(p.theirQP)
				} else {
					b[5], b[6] = 0, 0
				}
				// Sequence numbers are relative to those of the connection.
				psn := p.psn + uint32(b[11])
				if bth.Opcode(b[0]).IsResponse() {
					psn = uint32(b[11])
				}
				b[9], b[10], b[11] = byte(psn>>16), byte(psn>>8), byte(psn)
				b = p.path.AppendSum(b, 0, 0)
			}
			p.bytes(b)
		}
		x.end()
		r.unharmed()
		wait(t, ep.Done())
	})
}
