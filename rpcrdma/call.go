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

	// abandoned is set, under Conn.mu, by a caller who returns without a reply: the memory
	// is then given back by whoever takes the call off the table.
	abandoned bool
	late      bool // the reply came to a call that had been abandoned
	copies    bool // scattered memory would take too many windows: what the peer reads is copied

	// The end of a call that is not abandoned. It may come before the caller begins to wait, on his
	// own goroutine often; then he finds it in result, and else in done, of capacity 1. Who comes
	// second to turn knows.
	turn   atomic.Bool
	result error
	done   chan error

	recv   *receive    // the reply
	fetch  *replyFetch // of a reply with a read list, in the Draft
	credit credits.Credit

	settings *Settings // at the time of the plan
	planned  int       // length of the message at that time
	plan     chunks.CallPlan

	buf      transport.Slice // of the Send
	sendList [1]transport.Slice
	sendArgs [1]*transport.WorkRequest
	send     transport.WorkRequest

	reply   int   // the reply chunk's window
	results []int // by result: its window
	written []xdr.Chunk
	pieces  [][]byte
	without []bool
	windows windows
	header  Header
	info    CallInfo
	chain   chain // ends the windows of an abandoned call
}

func newCall() *call {
	k := &call{done: make(chan error, 1)}
	k.send.Op = transport.OpSend
	k.send.Flags = transport.Signaled
	k.send.Done = (*callSent)(k)
	k.send.Local = k.sendList[:]
	k.sendArgs[0] = &k.send
	return k
}

// getCall returns a call that its caller holds.
func getCall(c *Conn, x *oncrpc.Exchange) *call {
	k, _ := c.pool.calls.Get().(*call)
	if k == nil {
		k = newCall()
	}
	k.c, k.x, k.windows.c = c, x, c
	k.refs.Store(1)
	k.turn.Store(false)
	k.abandoned, k.late, k.copies = false, false, false
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
		k.c.flow.put(k.recv)
	}
	k.forgetLayout()
	if k.fetch != nil {
		k.fetch.release()
		k.fetch = nil
	}
	pool := k.c.pool
	k.c, k.windows.c, k.x, k.recv, k.result = nil, nil, nil, nil, nil
	pool.calls.Put(k)
}

// forgetLayout gives back the memory that the call was laid out in.
func (k *call) forgetLayout() {
	k.c.pool.put(k.buf, 0)
	k.windows.reset()
	clear(k.written)
	clear(k.pieces)
	k.written, k.results, k.pieces = k.written[:0], k.results[:0], k.pieces[:0]
	k.buf, k.sendList[0] = transport.Slice{}, transport.Slice{}
	k.reply = noWindow
	k.info.ReadChunk, k.info.Padding = 0, 0
}

// Release is called when the reply has been decoded.
func (k *call) Release() { k.unref() }

// callSent is told that the Send of a call has ended.
type callSent call

// Complete lets go of the Send. If it failed, so has the connection, and the call ends with that.
func (s *callSent) Complete(*transport.WorkRequest, error) {
	k := (*call)(s)
	c := k.c
	c.pool.put(k.buf, 0) // now, so that calls that await their reply hold none
	k.buf, k.sendList[0] = transport.Slice{}, transport.Slice{}
	c.queue.completed()
	k.unref()
}
