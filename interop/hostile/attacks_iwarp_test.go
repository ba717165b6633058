package hostile_test

import (
	"math/rand/v2"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// onIWARP are attacks by MPA, DDP and RDMAP.
var onIWARP = []attack{
	{
		name: "half an FPDU", threat: "RFC 5042 6.4.3.1", memory: true, conns: 50,
		over: []way{byIWARP}, only: fpdu,
		stream: func(p *peer) {
			b := p.message(rdmap.OpSend, make([]byte, 500)...)
			p.write(b[:len(b)/2]...)
			p.stay()
		},
		moves: "iwarp.Stalls",
	},
	{
		name: "an FPDU that trickles", threat: "RFC 5042 6.4.3.1", conns: 50,
		over: []way{byIWARP}, only: fpdu,
		stream: func(p *peer) {
			p.slowly(10*time.Second, p.message(rdmap.OpSend, make([]byte, 500)...))
		},
		moves: "iwarp.Stalls",
	},
	{
		name: "Sends of no bytes", threat: "RFC 5042 6.4.3.1", conns: 10, flood: true,
		over: overRDMA,
		verbs: func(p *peer) {
			p.floodPosts(func() *transport.WorkRequest { return p.sends(nil) })
		},
		moves: "rpcrdma.Malformed",
	},
	{
		name: "Writes of no bytes", threat: "RFC 5042 6.4.4", conns: 10, flood: true,
		over: overRDMA,
		verbs: func(p *peer) {
			p.floodPosts(func() *transport.WorkRequest { return p.writes(nil) })
		},
	},
	{
		name: "STags that are guessed, to write", threat: "RFC 5042 6.1.1, 6.2.1", conns: 20,
		flood: true,
		over:  overRDMA,
		verbs: func(p *peer) {
			p.post(p.writes([]byte("mine")))
			p.listen()
		},
		moves: "iwarp.TerminatesSent",
	},
	{
		name: "STags that are guessed, to read", threat: "RFC 5042 6.3.1", conns: 20, flood: true,
		over: overRDMA,
		verbs: func(p *peer) {
			p.post(p.gets(chunks.Segment{Handle: rand.Uint32(), Length: 1 << 20}))
			p.listen()
		},
		moves: "iwarp.TerminatesSent",
	},
	{
		name: "STags that are guessed, to invalidate", threat: "RFC 5042 6.4.5", conns: 20,
		flood: true,
		over:  overRDMA,
		verbs: func(p *peer) {
			wr := p.sends(nil)
			wr.Op, wr.Invalidate = transport.OpSendInvalidate, transport.STag(rand.Uint32())
			p.post(wr)
			p.listen()
		},
		moves: "iwarp.TerminatesSent",
	},
	{
		name: "more RDMA Reads than the IRD", threat: "RFC 5042 6.4.3.3", conns: 20, flood: true,
		over: overIWARP, only: segments,
		stream: func(p *peer) {
			p.flood(func() []byte { return p.asksToRead(rand.Uint32(), 0, 0) })
		},
		moves: "iwarp.TerminatesSent",
	},
	{
		name: "RDMA Reads of no bytes", threat: "RFC 5042 6.4.4", conns: 10, flood: true,
		over: overRDMA,
		verbs: func(p *peer) {
			for p.ok() {
				p.post(p.gets(chunks.Segment{Handle: rand.Uint32()}))
			}
		},
	},
	{
		name: "responses to RDMA Reads that nobody made", threat: "RFC 5042 6.2.1", conns: 20,
		flood: true,
		over:  overIWARP, only: segments,
		stream: func(p *peer) {
			p.write(tagged(rdmap.OpReadResponse, rand.Uint32(), 0, []byte("mine"))...)
			p.listen()
		},
		moves: "iwarp.TerminatesSent",
	},
	{
		name: "Terminates", threat: "RFC 5042 6.4.4", conns: 20, flood: true,
		over: overIWARP, only: segments,
		stream: func(p *peer) {
			t := rdmap.Terminate{Code: rdmap.TaggedBounds}
			p.write(p.message(rdmap.OpTerminate, t.Append(nil)...)...)
			p.listen()
		},
		moves: "iwarp.TerminatesReceived",
	},
	{
		name: "messages on queues that there are not", threat: "RFC 5042 6.4.4", conns: 20,
		flood: true,
		over:  overIWARP, only: segments,
		stream: func(p *peer) {
			h := p.next(rdmap.OpSend)
			h.Queue = 7
			p.write(frame(h, make([]byte, 100))...)
			p.listen()
		},
		moves: "iwarp.TerminatesSent",
	},
	{
		name: "wrong CRCs", threat: "RFC 5042 6.4.4", conns: 20, flood: true,
		over: []way{byIWARP}, only: fpdu,
		stream: func(p *peer) {
			b := p.message(rdmap.OpSend, make([]byte, 100)...)
			b[len(b)-1]++
			p.write(b...)
			p.listen()
		},
		moves: "iwarp.CRCErrors",
	},
}

// Why attacks are over iWARP alone.
const (
	fpdu     = "FPDUs"
	segments = "segments of DDP"
)

// asksToRead sends an RDMA Read of memory that the peer takes for the server's.
func (p *peer) asksToRead(stag uint32, offset uint64, n uint32) []byte {
	r := rdmap.ReadRequest{SinkSTag: 1, Len: n, SourceSTag: transport.STag(stag), SourceOffset: offset}
	return p.message(rdmap.OpReadRequest, r.Append(nil)...)
}
