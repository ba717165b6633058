package hostile_test

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// onTCP are attacks on the port for RPC over TCP: the threats of RFC 5042, without RDMA.
var onTCP = []attack{
	{
		name: "TCP connections that idle", threat: "RFC 5042 6.4.2", memory: true, conns: 200,
		over: overRPC, stream: (*peer).stay, moves: "oncrpc.TooMany",
	},
	{
		name: "TCP connections that come and go", threat: "RFC 5042 6.4.1", conns: 50,
		flood: true,
		over:  overRPC,
		stream: func(p *peer) {
			for range 3 {
				p.write(record(true, p.rpc(nfs3.ProcNull))...)
			}
			p.reset()
		},
	},
	{
		name: "records that are begun", threat: "RFC 5042 6.4.3.1", conns: 200,
		over: overRPC,
		stream: func(p *peer) {
			p.write(record(true, make([]byte, p.limits.maxRecord))[:100<<10]...)
			p.stay()
		},
		moves: "recordmark.Stalled",
	},
	{
		name: "records that lack their last byte", threat: "RFC 5042 6.4.3.1",
		memory: true, conns: 120,
		over: overRPC,
		stream: func(p *peer) {
			b := record(true, make([]byte, p.limits.maxRecord))
			p.write(b[:len(b)-1]...)
			p.stay()
		},
		moves: "recordmark.Stalled",
	},
	{
		name: "records that trickle", threat: "RFC 5042 6.4.3.1", conns: 100,
		over: overRPC,
		stream: func(p *peer) {
			b := record(true, make([]byte, p.limits.maxRecord))
			p.write(b[:100<<10]...)
			p.slowly(time.Second, b[100<<10:])
		},
		moves: "recordmark.Stalled",
	},
	{
		name: "records that are too long", threat: "RFC 5042 6.4.3.1", conns: 50,
		flood: true,
		over:  overRPC,
		stream: func(p *peer) {
			p.write(be32(1<<31 | uint32(p.limits.maxRecord+1))...)
			p.listen()
		},
		moves: "recordmark.BadRecords",
	},
	{
		name: "fragments of a byte", threat: "RFC 5042 6.4.4", conns: 10, flood: true,
		over: overRPC,
		stream: func(p *peer) {
			p.flood(func() (b []byte) {
				msg := p.rpc(nfs3.ProcNull)
				for i, c := range msg {
					b = append(b, record(i == len(msg)-1, []byte{c})...)
				}
				return b
			})
		},
	},
	{
		name: "fragments of no bytes", threat: "RFC 5042 6.4.4", conns: 10, flood: true,
		over: overRPC,
		stream: func(p *peer) {
			p.flood(func() []byte { return record(false, nil) })
		},
		moves: "recordmark.BadRecords",
	},
	{
		name: "results of READ that are not taken", threat: "RFC 5042 6.4.1", memory: true,
		conns: 40,
		over:  overRPC,
		stream: func(p *peer) {
			p.readsByTCP()
			p.stay()
		},
		moves: "recordmark.Stalled",
	},
	{
		name: "results of READ that are taken byte by byte", threat: "RFC 5042 6.4.1",
		conns: 40,
		over:  overRPC,
		stream: func(p *peer) {
			p.readsByTCP()
			for p.ok() {
				p.read(1)
				p.sleep(100 * time.Millisecond)
			}
		},
		moves: "recordmark.Stalled",
	},
	{
		name: "calls that are none", threat: "RFC 5042 6.4.4", conns: 10, flood: true,
		over: overRPC,
		stream: func(p *peer) {
			p.flood(func() []byte { return record(true, be32(1, 2, 3)) })
		},
		moves: "recordmark.BadRecords",
	},
	{
		name: "replies to no call over TCP", threat: "RFC 5042 6.4.4", conns: 10, flood: true,
		over: overRPC,
		stream: func(p *peer) {
			p.flood(func() []byte { return record(true, be32(1, 1, 0, 0, 0, 0)) })
		},
		moves: "recordmark.StrayReplies",
	},
	{
		name: "TCP calls as fast as they go", threat: "RFC 5042 6.4.3.2", conns: 10,
		flood: true,
		over:  overRPC,
		stream: func(p *peer) {
			for p.ok() {
				var b []byte
				for range p.limits.inFlight {
					b = append(b, record(true, p.rpc(nfs3.ProcNull))...)
				}
				p.write(b...)
				p.read(p.limits.inFlight * (4 + 24))
			}
		},
	},
}

// readsByTCP asks for the file as often as a connection may have calls under way.
func (p *peer) readsByTCP() {
	for range p.limits.inFlight {
		p.write(record(true, p.rpc(nfs3.ProcRead, p.readArgs(fileSize)))...)
	}
}
