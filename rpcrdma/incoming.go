package rpcrdma

import (
	"context"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/budget"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
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
	l        *link
	rs       *responder
	server   oncrpc.Dispatcher
	call     *oncrpc.Call // the handler's view of the call; nil if it is forwarded
	recv     *memory.Receive
	header   *wire.Header // the header in recv
	message  wire.Message // the inline part
	dec      xdr.Decoder
	reserved int64                    // bytes reserved in the budget
	needs    int64                    // further bytes needed to continue
	request  budget.Request[incoming] // while it waits for memory
	stall    list.Place[incoming]     // place in stalls, while it waits for the peer
	since    int                      // the tick when it began to wait for the peer
	awaits   waitingFor
}

// Becomes notes the handler's view of the call.
func (in *incoming) Becomes(c *oncrpc.Call) { in.call = c }

func newIncoming() *incoming {
	in := new(incoming)
	in.args.in, in.reply.in = in, in
	in.args.done = make(chan error, 1)
	return in
}

// newIncoming makes an incoming of the message in r; Conn.mu is held.
func (rs *responder) newIncoming(r *memory.Receive) *incoming {
	in, _ := rs.l.shared.incomings.Get().(*incoming)
	if in == nil {
		in = newIncoming()
	}
	in.l, in.rs, in.server = rs.l, rs, rs.server
	if in.server == noServer {
		in.server = unavailable
	}
	in.recv, in.header, in.message = r, &r.Header, r.Message
	return in
}

// waits notes what the call waits for the peer to do, from now on.
func (in *incoming) waits(what waitingFor) {
	in.l.mu.Lock()
	in.rs.stalls.add(in, what)
	in.l.mu.Unlock()
}

// goesOn notes that the call no longer waits.
func (in *incoming) goesOn() {
	in.l.mu.Lock()
	in.rs.stalls.remove(in)
	in.l.mu.Unlock()
}

// Message decodes the call.
func (in *incoming) Message() *xdr.Decoder { return &in.dec }

// Ready reports whether all arguments are here.
func (in *incoming) Ready() bool { return len(in.args.chunks) == 0 }

// Context returns a context that ends with the connection.
func (in *incoming) Context() context.Context { return in.l.ctx }

// Conn returns the connection.
func (in *incoming) Conn() oncrpc.Transport { return in.rs.conn }

// Drop ends the call without a reply.
func (in *incoming) Drop() {
	in.l.mu.Lock()
	in.l.granter.CallDropped()
	in.l.mu.Unlock()
	in.finish()
}

// Reply sends a reply.
func (in *incoming) Reply(m xdr.Message) {
	l := in.l
	in.reply.message = m
	if !in.reply.layout() {
		if err := in.reply.failed; err != nil {
			in.abort(err) // RFC 8166 section 4.5.4
			return
		}
		l.fault(&l.stats.TooLong, "reply refused", in.header.XID, in.reply.tooLong())
		in.refuse(wire.ErrChunk)
		return
	}
	if p := in.rs.pinned; p != nil && in.reply.read.pinned > 0 && !p.pin(in) {
		atomic.AddUint64(&l.stats.Withheld, 1) // another goroutine may have sent it by now
		return
	}
	in.reply.send()
}

// refuse answers the call with an RDMA_ERROR.
func (in *incoming) refuse(code wire.ErrCode) {
	in.reply.layoutError(code)
	in.reply.send()
}

// finish ends the call: its reply has left, or never will.
func (in *incoming) finish() {
	if p := in.rs.pinned; p != nil && len(in.reply.read.regions) > 0 {
		p.endWindows(in) // which calls giveBack afterwards
		return
	}
	in.giveBack()
}

// giveBack gives back everything that the call has.
func (in *incoming) giveBack() {
	l, rs := in.l, in.rs
	in.reply.release() // before the arguments, to which it may refer
	in.args.release()
	l.mu.Lock()
	rs.stalls.remove(in)
	if in.recv != nil {
		l.receives.Put(in.recv)
	}
	l.mu.Unlock()
	rd := &in.reply.read
	reserved, pinned, beyond := in.reserved, rd.pinned, rd.beyond
	rd.pinned, rd.beyond = 0, 0
	in.serving = serving{}
	in.turn.Add(1)
	l.shared.incomings.Put(in)
	rs.release(reserved, pinned, beyond)
}

// release takes back the memory that a call had reserved and that its reply had pinned, some of it
// beyond the budget. Other calls continue with it.
func (rs *responder) release(reserved, pinned, beyond int64) {
	switch {
	case reserved+pinned == 0:
	case rs.pinned != nil:
		rs.pinned.release(reserved, pinned, beyond)
	default:
		proceed(rs.share.Release(reserved, 0))
	}
}
