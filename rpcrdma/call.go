package rpcrdma

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// call is one call of this side, from RoundTrip until the last of these has let go of it: the
// caller, the table of calls that await a reply, the Send.
type call struct {
	c    *Conn
	x    *oncrpc.Exchange
	xid  uint32
	refs atomic.Int32

	// The end of a call that is not abandoned. It may come before the caller begins to wait, on his own goroutine often; then he
	// finds it in result, and else in done, of capacity 1. Who comes second to turn knows.
	turn   atomic.Bool
	result error
	done   chan error

	// abandoned is set, under Conn.mu, by a caller who returns without a reply: the memory
	// is then given back by whoever takes the call off the table.
	abandoned bool
	late      bool             // the reply came to a call that had been abandoned
	ended     []transport.STag // windows that the peer has ended; guarded by Conn.mu while the call is in the table

	settings *Settings // at the time of the plan
	planned  int       // length of the message at that time
	plan     chunks.CallPlan
	header   Header
	windows  []window
	results  []int // by result: its window
	reply    int   // the reply chunk's window
	slices   []transport.Slice
	regions  []transport.Region // of the windows
	segs     []chunks.Segment
	pieces   [][]byte
	without  []bool
	copies   bool // scattered memory would take too many windows: what the peer reads is copied

	buf      transport.Slice // of the Send
	send     transport.WorkRequest
	sendList [1]transport.Slice
	sendArgs [1]*transport.WorkRequest

	recv    *receive // the reply
	message message  // its inline part, wherever that is
	written []xdr.Chunk
	info    CallInfo
	credit  credits.Credit

	// Of a reply with a read list.
	owes     bool // it is to be answered by an RDMA_DONE
	fetching bool // its chunks; guarded by Conn.mu
	reads    []chunks.ReadChunk
	long     bool // the first of reads is the message
	loads    []transport.Slice
	chain    chain
	readErr  error // the first of the Reads
	gated    bool  // these go through the gate
	doneBuf  transport.Slice
	ack      transport.WorkRequest
	doneList [1]transport.Slice
	doneArgs [1]*transport.WorkRequest
}

func newCall() *call {
	k := &call{done: make(chan error, 1)}
	k.send.Op = transport.OpSend
	k.send.Flags = transport.Signaled
	k.send.Done = (*callSent)(k)
	k.send.Local = k.sendList[:]
	k.sendArgs[0] = &k.send
	k.ack.Op = transport.OpSend
	k.ack.Flags = transport.Signaled
	k.ack.Done = (*callSent)(k)
	k.ack.Local = k.doneList[:]
	k.doneArgs[0] = &k.ack
	return k
}

// getCall returns a call that its caller holds.
func getCall(c *Conn, x *oncrpc.Exchange) *call {
	k, _ := c.pool.calls.Get().(*call)
	if k == nil {
		k = newCall()
	}
	k.c, k.x = c, x
	k.refs.Store(1)
	k.turn.Store(false)
	k.abandoned, k.late, k.owes, k.fetching, k.long = false, false, false, false, false
	k.copies = false
	k.reply = noWindow
	k.info = CallInfo{}
	k.describe()
	return k
}

// describe notes what is called, as far as the message is made.
func (k *call) describe() {
	if m := k.x.Call.Inline; len(m) >= 24 {
		k.info.Program = binary.BigEndian.Uint32(m[12:])
		k.info.Version = binary.BigEndian.Uint32(m[16:])
		k.info.Procedure = binary.BigEndian.Uint32(m[20:])
	}
}

// unref lets go of k.
func (k *call) unref() {
	if k.refs.Add(-1) > 0 {
		return
	}
	if k.recv != nil {
		k.c.supply.release(k.recv)
	}
	k.forgetLayout()
	if k.owes || len(k.loads) > 0 {
		k.forgetReads()
	}
	pool := k.c.pool
	k.c, k.x, k.recv, k.message, k.result = nil, nil, nil, message{}, nil
	pool.calls.Put(k)
}

// forgetLayout gives back the memory that the call was laid out in.
func (k *call) forgetLayout() {
	p := k.c.pool
	p.put(k.buf, 0)
	if len(k.windows)+len(k.slices)+len(k.results)+len(k.written) > 0 { // a call that is inline both ways has none
		for i := range k.windows {
			p.put(k.windows[i].owned, k.windows[i].access)
		}
		clear(k.windows)
		clear(k.slices)
		clear(k.written)
		k.windows, k.slices, k.written, k.results = k.windows[:0], k.slices[:0], k.written[:0], k.results[:0]
		k.regions, k.ended = k.regions[:0], k.ended[:0]
	}
	clear(k.pieces)
	k.pieces = k.pieces[:0]
	k.buf, k.sendList[0] = transport.Slice{}, transport.Slice{}
	k.reply = noWindow
	k.info.ReadChunk, k.info.Padding = 0, 0
}

// forgetReads gives back the memory of a reply that was read.
func (k *call) forgetReads() {
	k.c.pool.put(k.doneBuf, 0)
	for _, s := range k.loads {
		k.c.pool.put(s, transport.LocalWrite)
	}
	clear(k.loads)
	clear(k.reads)
	k.loads, k.reads, k.chain = k.loads[:0], k.reads[:0], k.chain.cleared()
	k.doneBuf, k.doneList[0] = transport.Slice{}, transport.Slice{}
}

// Release is called when the reply has been decoded.
func (k *call) Release() { k.unref() }

// callSent is told that the Send of a call has ended.
type callSent call

// Complete lets go of the Send. If it failed, so has the connection, and the call ends with that.
func (s *callSent) Complete(*transport.WorkRequest, error) {
	k := (*call)(s)
	k.c.queue.completed()
	k.unref()
}
