package rpcrdma

import (
	"context"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// incoming is a call of the peer's, from its arrival until its reply has been sent:
// an oncrpc.IncomingCall. Its arguments stay in place as long, so a reply may refer to them.
type incoming struct {
	serving
	turn atomic.Uint32 // counts the calls that it has been; who fetches for one that has ended looks at it, too

	// Memory that the next call uses again.
	header  Header
	fetched chan error // of capacity 1: the end of a Fetch
	reads   []chunks.ReadChunk
	args    []xdr.Chunk
	loads   []transport.Slice // memory of the pool that holds arguments
	out     Header
	segs    []chunks.Segment
	pieces  [][]byte
	without []bool
	bounces []transport.Slice // memory of the pool that holds results
	exposed []transport.Slice // the same, that the peer reads
	regions []transport.Region
	reading []bool // by item of bulk data
	chain   chain
	imports []transport.Slice
}

// serving is what is forgotten of a call when it ends.
type serving struct {
	c        *Conn
	server   oncrpc.Dispatcher
	recv     *receive
	message                  // the inline part
	long     bool            // the first of reads is the message
	doubtful bool            // that may be the reply to a call of ours
	heard    uint64          // number of a doubtful one among replies
	reserved int64           // of the budget
	arrival  uint64          // among calls that have had to wait for that
	queued   place[incoming] // in its callQueue, while it waits for memory
	dec      xdr.Decoder
	readErr  error // the first of the Reads under way
	gated    bool  // these go through the gate

	stall place[incoming] // in Conn.stalls, while it waits for the peer
	since int             // the tick since when

	reply    xdr.Message
	buf      transport.Slice // of the Send
	thresh   int             // of padding, in an RDMA_MSGP
	sendList [1]transport.Slice

	// Of a reply with a read list.
	copies bool  // scattered memory would take too many windows: what the peer reads is copied
	pinned int64 // bytes that the peer is to read, counted in the budget
	owes   bool  // the peer owes an RDMA_DONE; guarded by Conn.mu, as what follows
	sent   bool  // the Send is complete
	acked  bool  // the DONE has come
}

func getIncoming(c *Conn, s oncrpc.Dispatcher) *incoming {
	in, _ := c.pool.incomings.Get().(*incoming)
	if in == nil {
		in = &incoming{fetched: make(chan error, 1)}
	}
	in.c, in.server = c, s
	return in
}

// Message decodes the call.
func (in *incoming) Message() *xdr.Decoder { return &in.dec }

// Ready reports whether the arguments are all here.
func (in *incoming) Ready() bool { return len(in.args) == 0 }

// Context ends with the connection.
func (in *incoming) Context() context.Context { return in.c.ctx }

// Conn returns the connection.
func (in *incoming) Conn() oncrpc.Transport { return in.c }

// Drop gives the call up.
func (in *incoming) Drop() {
	if !in.doubtful {
		in.c.mu.Lock()
		in.c.responder.granter.CallDropped()
		in.c.mu.Unlock()
	}
	in.finish()
}

// finish ends the call: its reply has left, or never will.
func (in *incoming) finish() {
	if len(in.regions) > 0 {
		in.endWindows()
		return
	}
	in.giveBack()
}

// endWindows ends the windows of a reply, and gives the call back then. Until that has
// come to its turn the call waits for the peer.
func (in *incoming) endWindows() {
	c := in.c
	c.mu.Lock()
	c.stalls.remove(in)
	in.owes = false
	c.stalls.add(in)
	c.mu.Unlock()
	if _, err := c.invalidate(&in.chain, in.regions, nil, (*replyEnded)(in)); err != nil {
		c.fail(err)
		c.whenEnded(in.regions, in.giveBack)
	}
}

// replyEnded is told that the windows of a reply have ended.
type replyEnded incoming

// Complete gives the call back when the last of them has.
func (e *replyEnded) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(e)
	in.c.queue.completed()
	switch {
	case wr.Context != nil:
	case err != nil:
		in.c.fail(err)
		in.c.whenEnded(in.regions, in.giveBack)
	default:
		in.giveBack()
	}
}

// giveBack gives back what the call has. Its windows have ended.
func (in *incoming) giveBack() {
	c := in.c
	in.reply.Release()
	in.releaseImports()
	if len(in.reads)+len(in.loads)+len(in.bounces)+len(in.exposed) > 0 { // most calls have none
		in.letGo()
	}
	c.pool.put(in.buf, 0)
	c.mu.Lock()
	c.stalls.remove(in)
	if in.recv != nil {
		c.supply.put(in.recv)
	}
	c.mu.Unlock()
	reserved, pinned := in.reserved, in.pinned
	in.out.Lists.Reset()
	clear(in.pieces)
	in.pieces, in.regions, in.chain = in.pieces[:0], in.regions[:0], in.chain.cleared()
	in.serving = serving{}
	in.turn.Add(1)
	c.pool.incomings.Put(in)
	c.budget.release(c, reserved, pinned)
}

// letGo gives back the memory that arguments and results were in.
func (in *incoming) letGo() {
	for _, s := range in.loads {
		in.c.pool.put(s, transport.LocalWrite)
	}
	for _, s := range in.bounces {
		in.c.pool.put(s, 0)
	}
	for _, s := range in.exposed {
		in.c.pool.put(s, transport.RemoteRead)
	}
	clear(in.reads)
	clear(in.args)
	clear(in.loads)
	clear(in.bounces)
	clear(in.exposed)
	in.reads, in.args, in.loads = in.reads[:0], in.args[:0], in.loads[:0]
	in.bounces, in.exposed = in.bounces[:0], in.exposed[:0]
}
