package rpcrdma

import (
	"context"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// incoming is a call of the peer's, from its arrival until its reply has been sent:
// an oncrpc.IncomingCall. Its arguments stay in place as long, so a reply may refer to them.
type incoming struct {
	serving
	turn atomic.Uint32 // counts the calls that it has been; also read for one that has ended

	// The memory of what follows is used again.
	args  arguments
	reply reply
}

// serving is what is forgotten of a call when it ends.
type serving struct {
	c        *Conn
	server   oncrpc.Dispatcher
	call     *oncrpc.Call // to the handler; nil if it is forwarded
	recv     *receive
	header   *Header // that of recv
	message          // the inline part
	dec      xdr.Decoder
	reserved int64                // bytes of the budget that it has
	needs    int64                // bytes beside these, before it may go on
	arrival  uint64               // among calls that have had to wait for them
	queued   list.Place[incoming] // in its callQueue, while it waits for memory
	stall    list.Place[incoming] // in stalls, while it waits for the peer
	since    int                  // the tick since when
	awaits   duty                 // what for
}

// Becomes tells of the call that it is to the handler.
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

// Ready reports whether the arguments are all here.
func (in *incoming) Ready() bool { return len(in.args.chunks) == 0 }

// Context ends with the connection.
func (in *incoming) Context() context.Context { return in.c.ctx }

// Conn returns the connection.
func (in *incoming) Conn() oncrpc.Transport { return in.c }

// Drop gives the call up.
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
	in.c.stats.errorsSent.Add(1)
	in.reply.layoutError(code)
	in.reply.send()
}

// finish ends the call: its reply has left, or never will.
func (in *incoming) finish() {
	if d := in.c.draft; d != nil && len(in.reply.read.regions) > 0 {
		d.endWindows(in) // which gives back when they have ended
		return
	}
	in.giveBack()
}

// giveBack gives back what the call has.
func (in *incoming) giveBack() {
	c := in.c
	in.reply.release() // which may refer to arguments
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
