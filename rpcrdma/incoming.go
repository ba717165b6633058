package rpcrdma

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// incoming is a call of the peer's, from its arrival until its reply has been sent:
// an oncrpc.Incoming. Its arguments stay in place as long, so a reply may refer to them.
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
	message         // the inline part
	long     bool   // the first of reads is the message
	doubtful bool   // that may be the reply to a call of ours
	heard    uint64 // number of a doubtful one among replies
	reserved int64  // of the budget
	dec      xdr.Decoder
	readErr  error // the first of the Reads under way
	gated    bool  // these go through the gate

	waits      bool // for the peer: in Conn.stalls, as what follows
	since      int
	prev, next *incoming

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

// finish ends the call: its reply has left, or never will.
func (in *incoming) finish() {
	if len(in.regions) > 0 {
		in.endWindows()
		return
	}
	in.giveBack()
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

// check checks the chunk lists of the call, and computes the memory that it needs.
func (in *incoming) check() error {
	c, h := in.c, &in.header
	var err error
	if in.reads, err = h.readChunks(in.reads[:0], c.cfg.MaxMessage); err != nil {
		if errors.Is(err, xdr.ErrLimit) {
			err = fmt.Errorf("%w: %w", &oncrpc.CallTooLongError{Max: c.cfg.MaxMessage}, err)
		}
		return err
	}
	if len(in.reads) > 0 && c.settings.Load().Reads == 0 {
		return transport.ErrNoReads
	}
	in.long = len(in.reads) > 0 && in.reads[0].Position == 0
	switch {
	case in.long && h.Type != TypeNoMsg:
		return fmt.Errorf("%w: read chunk at position 0 beside a message", ErrMalformed)
	case !in.long && h.Type == TypeNoMsg:
		return fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed)
	case !in.long:
		err = chunks.CheckPositions(in.reads, len(in.body)+len(in.more))
	default:
		err = chunks.CheckPositions(in.reads[1:], in.reads[0].Len)
	}
	if err != nil {
		return err
	}
	offered := uint64(0)
	for _, w := range h.Writes {
		offered += w.Len()
	}
	offered += h.Reply.Len()
	// Nothing is to be given back of a call that was refused above.
	in.reserved = int64(min(offered, uint64(c.cfg.MaxMessage)))
	for i := range in.reads {
		in.reserved += int64(in.reads[i].Len)
	}
	return nil
}

// start begins the call once its memory is reserved: a long message is fetched first.
func (in *incoming) start() {
	if !in.long || len(in.loads) > 0 { // it was in doubt, and is here
		in.begin()
		return
	}
	n := in.reads[0].Len
	s, err := in.c.pool.get(n, transport.LocalWrite)
	if err != nil && in.doubtful {
		in.isReply()
		return
	}
	if err != nil {
		in.c.cfg.faults.Fault(in.c.info.RemoteAddr, "rpcrdma: no memory for a call", nil, "xid", in.header.XID, "err", err)
		in.refuse(ErrChunk)
		return
	}
	in.loads = append(in.loads, s)
	in.body = s.Bytes
	if err := in.read(in.reads[0].Segments, n, in.loads[:1], (*longRead)(in)); err != nil {
		in.abort(err)
	}
}

// longRead is told how the fetching of a long message goes.
type longRead incoming

// Complete goes on with the call when the last Read is complete.
func (r *longRead) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(r)
	last, err := in.fetchDone(wr, err)
	if !last {
		return
	}
	if err != nil {
		in.abort(err)
		return
	}
	b := in.body
	switch {
	case len(b) >= 8 && oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])) == oncrpc.MsgReply:
		in.isReply()
		return
	case len(b) < 8 || oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])) != oncrpc.MsgCall:
		err = fmt.Errorf("%w: no call in the chunk at position 0", ErrMalformed)
	case binary.BigEndian.Uint32(b) != in.header.XID:
		err = ErrXID
	}
	doubtful := in.doubtful
	if doubtful {
		in.isCall()
	}
	switch {
	case err != nil:
		in.c.fault(&in.c.stats.malformed, "call refused", in.header.XID, err)
		in.refuse(ErrChunk)
	case doubtful:
		in.admit()
	default:
		in.begin()
	}
}

// begin hands the call to the server.
func (in *incoming) begin() {
	for i := range in.reads {
		if in.long && i == 0 {
			continue
		}
		ch := &in.reads[i]
		in.args = append(in.args, xdr.Chunk{Position: ch.Position, Len: ch.Len, Source: in, ID: in.chunkID(i)})
	}
	in.dec.Reset(in.body, in.args)
	in.message.decode(&in.dec)
	if in.server == nobody {
		in.c.stats.unserved.Add(1)
	}
	in.server.Dispatch(in)
}

// abort gives up a call whose message could not be read, so that its connection cannot go on. Where that comes of its end there may be
// many such calls, and why it ended is in the log.
func (in *incoming) abort(err error) {
	const msg = "rpcrdma: call aborted"
	peer, xid := in.c.info.RemoteAddr, in.header.XID
	if errors.Is(err, net.ErrClosed) || errors.Is(err, transport.ErrFlushed) {
		in.c.cfg.Logger.Debug(msg, "peer", peer, "xid", xid, "err", err)
	} else {
		in.c.cfg.faults.Fault(peer, msg, nil, "xid", xid, "err", err)
	}
	in.c.fail(err)
	in.Drop()
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
		in.c.granter.Dropped()
		in.c.mu.Unlock()
	}
	in.finish()
}
