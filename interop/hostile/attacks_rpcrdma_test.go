package hostile_test

import (
	"math"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// onRPCRDMA are attacks by RPC-over-RDMA, in the dialect of RFC 8166.
var onRPCRDMA = []attack{
	{
		name: "RDMA Reads that are answered all at once", threat: "RFC 8166 8.1.4", conns: 20,
		over: overIWARP, only: segments,
		stream: func(p *peer) {
			p.null()
			const n = 4096
			for range p.credits {
				msg := p.rpc(nfs3.ProcWrite, p.writeArgs(n))
				p.send(p.call(0, readFrom(uint32(len(msg)), n), msg))
			}
			p.sleep(10 * time.Second)
			for p.ok() {
				r := p.readRequest()
				p.write(p.response(r.SinkSTag, r.SinkOffset, int(r.Len), true)...)
			}
		},
	},
	{
		name: "chunks of gigabytes", threat: "RFC 8166 8.1.4", memory: true, conns: 10, flood: true,
		over: overRDMA,
		verbs: func(p *peer) {
			p.floodSends(func() []byte {
				msg := p.rpc(nfs3.ProcNull)
				lists := readFrom(0, math.MaxUint32)
				lists.Reads = append(lists.Reads, lists.Reads...)
				lists.SetReply([]chunks.Segment{{Handle: 1, Length: math.MaxUint32}})
				return p.call(rpcrdma.TypeNoMsg, lists, msg[:0])
			})
		},
		moves: "rpcrdma.Malformed",
	},
	{
		name: "lists of many segments", threat: "RFC 8166 8.1.4", conns: 10, flood: true,
		over: overRDMA,
		verbs: func(p *peer) {
			p.floodSends(func() []byte {
				var lists chunks.Lists
				for range 150 { // all that a Send of 4096 bytes has room for
					lists.Reads = append(lists.Reads, chunks.ReadSegment{
						Segment: chunks.Segment{Handle: 1, Length: 1},
					})
				}
				p.rpc(nfs3.ProcNull)
				return p.call(rpcrdma.TypeNoMsg, lists, nil)
			})
		},
		moves: "iwarp.TerminatesSent",
	},
	{
		name: "headers that are none", threat: "RFC 8166 8.1.4, RFC 5042 6.4.4", conns: 10,
		flood: true,
		over:  overRDMA,
		verbs: func(p *peer) {
			p.floodSends(func() []byte {
				p.xid++
				return be32(p.xid, 1, 64, 99, 1, 1, 1)
			})
		},
		moves: "rpcrdma.Malformed",
	},
	{
		name: "more calls than credits", threat: "RFC 8166 8.1.4", conns: 10, flood: true,
		over: overRDMA,
		verbs: func(p *peer) {
			p.floodSends(func() []byte { return p.call(0, noChunks, p.rpc(nfs3.ProcNull)) })
		},
		moves: "rpcrdma.Exceeded",
	},
	{
		name: "calls as fast as they are answered", threat: "RFC 5042 6.4.3.2", memory: true, conns: 10,
		flood: true,
		over:  overRDMA,
		verbs: func(p *peer) {
			p.null()
			for p.ok() {
				var calls [][]byte
				for range p.credits {
					calls = append(calls, p.call(0, noChunks, p.rpc(nfs3.ProcNull)))
				}
				p.send(calls...)
				for range p.credits {
					p.receive()
				}
			}
		},
	},
	{
		name: "calls that take long", threat: "RFC 5042 6.4.3", conns: 20, handlers: slowCall,
		over: overRDMA,
		verbs: func(p *peer) {
			p.null()
			for p.ok() {
				for range p.credits {
					p.send(p.call(0, noChunks, p.rpcOf(slow.Number, slow.Version, 1)))
				}
				for range p.credits {
					p.receive()
				}
			}
		},
	},
	{
		name: "arguments that lie about their length", threat: "RFC 5042 6.4.4", conns: 10,
		flood: true,
		over:  overRDMA,
		verbs: func(p *peer) {
			p.null()
			for p.ok() {
				msg := p.rpc(nfs3.ProcWrite, p.handle(), be32(0, 0, math.MaxUint32, 0, math.MaxUint32))
				p.send(p.call(0, noChunks, msg))
				p.receive()
			}
		},
		moves: "oncrpc.Errors",
	},
	{
		name: "replies to no call", threat: "RFC 8166 8.1.4", conns: 10, flood: true,
		over: overRDMA,
		verbs: func(p *peer) {
			p.floodSends(func() []byte {
				p.xid++
				return p.call(0, noChunks, be32(p.xid, 1, 0, 0, 0, 0))
			})
		},
		moves: "rpcrdma.UnknownXID",
	},
}

// draftSize is a size of READ, in bytes, whose result does not fit inline and is not too long.
const draftSize = 256 << 10

// onDraft are attacks on features of the draft's dialect.
var onDraft = []attack{
	{
		name: "RDMA_DONEs for nothing", threat: "RFC 5042 6.4.4", conns: 10, flood: true,
		dialect: rpcrdma.Draft,
		over:    overRDMA,
		verbs: func(p *peer) {
			p.floodSends(func() []byte {
				p.xid++
				return be32(p.xid, 1, 64, uint32(rpcrdma.TypeDone))
			})
		},
		moves: "rpcrdma.DonesIgnored",
	},
	{
		name: "memory that is read after its RDMA_DONE", threat: "RFC 5042 6.3.3", conns: 10,
		flood: true, dialect: rpcrdma.Draft,
		over: overRDMA,
		verbs: func(p *peer) {
			p.null()
			p.send(p.call(0, noChunks, p.rpc(nfs3.ProcRead, p.readArgs(draftSize))))
			var h rpcrdma.Header
			for p.ok() && len(h.Reads) == 0 {
				h.Parse(p.receive())
			}
			if !p.ok() {
				return
			}
			p.send(be32(p.xid, 1, 64, uint32(rpcrdma.TypeDone)))
			p.null()
			for p.ok() {
				p.post(p.gets(h.Reads[0].Segment))
			}
		},
		moves: "iwarp.TerminatesSent",
	},
}

var noChunks chunks.Lists

// response returns a segment of a response to an RDMA Read.
func (p *peer) response(sink transport.STag, to uint64, n int, last bool) []byte {
	return frame(ddp.Header{
		Tagged: true, Last: last, Control: rdmap.Control(ddp.Version, rdmap.OpReadResponse),
		STag: sink, Offset: to,
	}, make([]byte, n))
}

// readFrom returns a read chunk of n bytes at a position.
func readFrom(position, n uint32) chunks.Lists {
	return chunks.Lists{Reads: []chunks.ReadSegment{
		{Position: position, Segment: chunks.Segment{Handle: 1, Length: n}},
	}}
}
