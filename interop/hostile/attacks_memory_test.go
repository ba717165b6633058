package hostile_test

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// onMemory are attacks over RDMA that begin something and never end it, which occupies memory of
// the server.
var onMemory = []attack{
	{
		name: "Sends that are begun", threat: "RFC 5042 6.4.3.1", memory: true, conns: 300,
		over: overIWARP, only: segments,
		stream: func(p *peer) {
			p.null()
			h := p.next(rdmap.OpSend)
			h.Last = false
			p.write(frame(h, make([]byte, 60))...)
			p.stay()
		},
		moves: "iwarp.Stalls",
	},
	{
		name: "Sends that trickle", threat: "RFC 5042 6.4.3.1", conns: 300,
		over: overIWARP, only: segments,
		stream: func(p *peer) {
			p.null()
			h := p.next(rdmap.OpSend)
			h.Last = false
			for ; p.ok(); h.MO++ {
				p.write(frame(h, []byte{0})...)
				p.sleep(10 * time.Second)
			}
		},
		moves: "iwarp.Stalls",
	},
	{
		name: "replies that are not taken", threat: "RFC 5042 6.4.1", memory: true, conns: 40,
		over: overRDMA,
		verbs: func(p *peer) {
			p.null()
			p.deafen()
			p.reads()
			p.stay()
		},
		moves: "iwarp.Stalls",
	},
	{
		name: "replies that are taken byte by byte", threat: "RFC 5042 6.4.1", conns: 40,
		over: []way{byIWARP}, only: fpdu,
		stream: func(p *peer) {
			p.null()
			p.reads()
			for p.ok() {
				p.read(1)
				p.sleep(100 * time.Millisecond)
			}
		},
		moves: "iwarp.Stalls",
	},
	{
		name: "RDMA Reads that are not answered", threat: "RFC 8166 8.1.4", conns: 100,
		over: overIWARP, only: segments,
		stream: func(p *peer) {
			p.null()
			p.longCalls()
			p.stay()
		},
		moves: "rpcrdma.Stalled",
	},
	{
		name: "RDMA Reads that lack their last byte", threat: "RFC 8166 8.1.4", memory: true,
		conns: 30,
		over:  overIWARP, only: segments,
		stream: func(p *peer) {
			p.null()
			p.longCalls()
			r := p.readRequest()
			const most = 4 << 10
			for n := r.Len - 1; n > 0 && p.ok(); {
				k := min(n, most)
				p.write(p.response(r.SinkSTag, r.SinkOffset, int(k), false)...)
				r.SinkOffset += uint64(k)
				n -= k
			}
			p.listen()
		},
		moves: "rpcrdma.Stalled",
	},
	{
		name: "RDMA Reads that are answered byte by byte", threat: "RFC 8166 8.1.4", conns: 100,
		over: overIWARP, only: segments,
		stream: func(p *peer) {
			p.null()
			p.longCalls()
			r := p.readRequest()
			for to := r.SinkOffset; p.ok(); to++ {
				p.write(p.response(r.SinkSTag, to, 1, false)...)
				p.sleep(time.Second)
			}
		},
		moves: "rpcrdma.Stalled",
	},
	{
		name: "reply chunks that reserve memory", threat: "RFC 8166 8.1.4", conns: 100,
		over: overIWARP, only: segments,
		stream: func(p *peer) {
			p.null()
			for range p.credits { // the call is there, and its arguments never are
				msg := p.rpc(nfs3.ProcWrite, p.writeArgs(64))
				lists := readFrom(uint32(len(msg)), 64)
				lists.SetReply([]chunks.Segment{{Handle: 1, Length: uint32(p.limits.maxMessage)}})
				p.send(p.call(0, lists, msg))
			}
			p.stay()
		},
		moves: "rpcrdma.Stalled",
	},
	{
		name: "RDMA_DONEs that are withheld", threat: "RFC 5042 6.4.1", memory: true, conns: 100,
		dialect: rpcrdma.Draft,
		over:    overRDMA,
		verbs: func(p *peer) {
			p.null()
			for range p.credits {
				p.send(p.call(0, noChunks, p.rpc(nfs3.ProcRead, p.readArgs(draftSize))))
			}
			p.listen()
		},
		moves: "rpcrdma.DonesMissed",
	},
}

// reads asks for the file, by RDMA Write, with every credit.
func (p *peer) reads() {
	lists := p.landing(fileSize)
	for range p.credits {
		msg := p.rpc(nfs3.ProcRead, p.readArgs(fileSize))
		p.send(p.call(0, lists, msg))
	}
}

// longCalls makes a call with every credit. Each is as long as allowed, and the server must fetch
// it.
func (p *peer) longCalls() {
	for range p.credits {
		p.rpc(nfs3.ProcNull)
		p.send(p.call(rpcrdma.TypeNoMsg, readFrom(0, uint32(p.limits.maxMessage)), nil))
	}
}

// landing returns a write chunk of n bytes.
func (p *peer) landing(n uint32) (l chunks.Lists) {
	at := chunks.Segment{Handle: 1, Length: n}
	if p.verbs != nil { // the provider discards nothing
		at = p.window(n)
	}
	l.AddWrite([]chunks.Segment{at})
	return l
}
