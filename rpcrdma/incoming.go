package rpcrdma

import (
	"context"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// incoming is a call of the peer, from its arrival until its reply has been sent. It implements
// oncrpc.IncomingCall. Its arguments stay in place until then, so the reply may refer to them.
type incoming struct {
	serving
	turn atomic.Uint32 // how often it was reused; also read after the call has ended

	// The storage of these is reused.
	args  arguments
	reply reply
}

// serving is the part of an incoming that is cleared when the call ends.
type serving struct {
	c        *Conn
	server   oncrpc.Dispatcher
	call     *oncrpc.Call // the handler's view of the call; nil if it is forwarded
	recv     *receive
	header   *Header // the header in recv
	message          // the inline part
	dec      xdr.Decoder
	reserved int64                // bytes reserved in the budget
	needs    int64                // further bytes needed to continue
	arrival  uint64               // place among the calls that had to wait for memory
	queued   list.Place[incoming] // place in a callQueue, while it waits for memory
	stall    list.Place[incoming] // place in stalls, while it waits for the peer
	since    int                  // the tick when it began to wait for the peer
	awaits   duty                 // what it waits for
}

// Becomes notes the handler's view of the call.
func (in *incoming) Becomes(c *oncrpc.Call) { in.call = c }

func newIncoming() *incoming {
	in := new(incoming)
	in.args.in, in.reply.in = in, in
	in.args.done = make(chan error, 1)
	return in
}

func getIncoming(c *Conn, s oncrpc.Dispatcher) *incoming {
	in, _ := c.pool.incomings.Get().(*incoming)
	if in == nil {
		in = newIncoming()
	}
	in.c, in.server = c, s
	return in
}

// Message decodes the call.
func (in *incoming) Message() *xdr.Decoder { return &in.dec }

// Ready reports whether all arguments are here.
func (in *incoming) Ready() bool { return len(in.args.chunks) == 0 }

// Context returns a context that ends with the connection.
func (in *incoming) Context() context.Context { return in.c.ctx }

// Conn returns the connection.
func (in *incoming) Conn() oncrpc.Transport { return in.c }

// Drop ends the call without a reply.
func (in *incoming) Drop() {
	in.c.flow.dropped()
	in.finish()
}

// Reply sends a reply.
func (in *incoming) Reply(m xdr.Message) {
	c := in.c
	in.reply.message = m
	if !in.reply.layout() {
		if err := in.reply.failed; err != nil {
			in.abort(err) // RFC 8166 section 4.5.4
			return
		}
		c.fault(&c.stats.tooLong, "reply refused", in.header.XID, in.reply.tooLong())
		in.refuse(ErrChunk)
		return
	}
	if d := c.draft; d != nil && in.reply.read.pinned > 0 && !d.pins.pin(in) {
		c.stats.withheld.Add(1) // another goroutine may have sent it by now
		return
	}
	in.reply.send()
}

// refuse answers the call with an RDMA_ERROR.
func (in *incoming) refuse(code ErrCode) {
	in.reply.layoutError(code)
	in.reply.send()
}

// finish ends the call: its reply has left, or never will.
func (in *incoming) finish() {
	if d := in.c.draft; d != nil && len(in.reply.read.regions) > 0 {
		d.endWindows(in) // which calls giveBack afterwards
		return
	}
	in.giveBack()
}

// giveBack gives back everything that the call has.
func (in *incoming) giveBack() {
	c := in.c
	in.reply.release() // before the arguments, to which it may refer
	in.args.release()
	c.flow.callEnded(in)
	rd := &in.reply.read
	reserved, pinned, beyond := in.reserved, rd.pinned, rd.beyond
	rd.pinned, rd.beyond = 0, 0
	in.serving = serving{}
	in.turn.Add(1)
	c.pool.incomings.Put(in)
	c.flow.release(reserved, pinned, beyond)
}
