package hostile_test

import (
	"math/rand/v2"
	"net"
	"net/netip"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// onRoCE has attacks with packets of RoCE. They never stop, as the server cannot throw out a host
// that sends datagrams. A host sends 32 of them each millisecond: more would show how the kernel
// shares out the processor of the attacker and the bystanders, who are on one machine. If it sends
// as many as it can to a socket that nobody reads, bystanders keep an eighth of their throughput.
var onRoCE = []attack{
	{
		name: "datagrams that are no packets", threat: "RFC 5042 6.4.4", conns: 1, flood: true,
		over: []way{byRoCE}, only: "datagrams",
		raw: func(p *peer) {
			b := make([]byte, 60)
			p.datagrams(func() []byte { return b })
		},
	},
	{
		name: "packets to no queue pair", threat: "RFC 5042 6.4.4", conns: 1, flood: true,
		over: []way{byRoCE}, only: "queue pairs",
		raw: func(p *peer) {
			path := p.path()
			p.datagrams(func() []byte {
				return packet(&path, bth.Packet{Opcode: bth.SendOnly, QP: rand.Uint32() & bth.Mask24})
			})
		},
	},
	{
		name: "REQs that are never completed", threat: "RFC 5042 6.4.1", conns: 1, flood: true,
		over: []way{byRoCE}, only: "REQs", memory: true,
		raw: func(p *peer) {
			path := p.path()
			p.datagrams(func() []byte { return packet(&path, mad(p.request())) })
		},
	},
	{
		name: "RDMA Writes that do not wait", threat: "RFC 5042 6.4.4", conns: 1, flood: true,
		over: []way{byRoCE}, only: "a window that the sender keeps",
		raw: func(p *peer) {
			path := p.path()
			qp, psn := p.connectRoCE(&path)
			h := bth.Packet{Opcode: bth.WriteOnly, AckReq: true, QP: qp}
			p.datagrams(func() []byte {
				h.PSN = psn & bth.Mask24
				psn++
				return packet(&path, h)
			})
		},
	},
}

// datagrams floods the server, by one of eight sockets.
func (p *peer) datagrams(next func() []byte) {
	for p.ok() {
		for range 4 {
			p.write(next()...)
		}
		p.sleep(time.Millisecond)
	}
}

// path returns what packets of the connection have in common.
func (p *peer) path() bth.Path {
	return bth.NewPath(p.conn.LocalAddr().(*net.UDPAddr).AddrPort(),
		p.conn.RemoteAddr().(*net.UDPAddr).AddrPort())
}

// packet returns a packet. The system numbers datagrams of a connected socket, and the ICRC covers
// that number; the server takes one of 0.
func packet(path *bth.Path, h bth.Packet) []byte {
	h.Migrated, h.PKey = true, bth.DefaultPKey
	b := append(h.AppendHeaders(nil, len(h.Payload)), h.Payload...)
	return path.AppendSum(b, 0, 0)
}

// mad returns a message to the connection manager.
func mad(m cm.Message) bth.Packet {
	return bth.Packet{
		Opcode: bth.Datagram, QP: cm.QP, DETH: bth.DETH{QKey: cm.QKey, QP: cm.QP},
		Payload: cm.Append(nil, m, rand.Uint64()),
	}
}

// request returns a request for a connection.
func (p *peer) request() *cm.REQ {
	server := p.conn.RemoteAddr().(*net.UDPAddr).AddrPort().Addr()
	own := netip.MustParseAddr(p.host)
	return &cm.REQ{
		CommID: 1 + rand.Uint32()>>1, ServiceID: cm.ServiceID(p.port), QP: 2 + rand.Uint32()>>9,
		ResponderResources: 1, InitiatorDepth: 1, RemoteTimeout: 20, LocalTimeout: 20, RetryCount: 7,
		RNRRetry: 7, MaxCMRetries: 15, PKey: bth.DefaultPKey, MTU: cm.MTUOf(1024), LocalGID: own,
		RemoteGID: server, Private: cm.IP{Port: 1023, Src: own, Dst: server}.Append(nil),
	}
}

// connectRoCE makes a connection from the port of RoCE, which only one peer of a host can have. It
// returns the server's queue pair and the first PSN for it.
func (p *peer) connectRoCE(path *bth.Path) (qp, psn uint32) {
	own := netip.AddrPortFrom(netip.MustParseAddr(p.host), roce.UDPPort)
	answers, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(own))
	if err != nil {
		p.err = err
		return 0, 0
	}
	defer answers.Close()
	m := p.request()
	p.write(packet(path, mad(m))...)
	_ = answers.SetReadDeadline(time.Now().Add(time.Second)) // then another peer asks again
	for b := make([]byte, 4096); p.ok(); {
		n, err := answers.Read(b)
		if p.err = err; err != nil {
			break
		}
		h, err := bth.Parse(b[:n])
		if err != nil {
			continue
		}
		answer, _, err := cm.Parse(h.Payload)
		if rep, ok := answer.(*cm.REP); ok && err == nil {
			p.write(packet(path, mad(&cm.RTU{Local: m.CommID, Remote: rep.Local}))...)
			return rep.QP, rep.PSN
		}
	}
	return 0, 0
}
