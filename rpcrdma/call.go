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

// call is one call of this side. It is reused when the caller, the table of pending calls and the
// Send have all let go of it.
type call struct {
	c    *Conn
	x    *oncrpc.Exchange
	xid  uint32
	refs atomic.Int32

	// abandoned is set, under Conn.mu, when RoundTrip returns without a reply. The goroutine that
	// later takes the call off the table then gives back the memory.
	abandoned bool
	late      bool // the reply came after the call was abandoned
	unposted  bool // the endpoint did not get the Send
	copies    bool // copy what the peer reads, because scattered memory takes too many windows

	// The result of a call that is not abandoned. It may come before the caller begins to wait,
	// often on the caller's own goroutine. Then it is in result; otherwise it comes by done, of
	// capacity 1. The second of the two to swap turn knows that it is the second.
	turn   atomic.Bool
	result error
	done   chan error

	recv   *receive    // with the reply
	fetch  *replyFetch // for a reply with a read list (Draft)
	credit credits.Credit

	settings *Settings // used for the plan
	planned  int       // length of the message at that time
	plan     chunks.CallPlan

	buf      transport.Slice // memory of the Send
	sendList [1]transport.Slice
	sendArgs [1]*transport.WorkRequest
	send     transport.WorkRequest

	reply   int   // index of the reply chunk's window
	results []int // index of each result's window
	written []xdr.Chunk
	pieces  [][]byte
	without []bool
	windows windows
	header  Header
	info    CallInfo
	chain   chain // invalidates the windows of an abandoned call
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

// getCall returns a call with one reference, the caller's.
func getCall(c *Conn, x *oncrpc.Exchange) *call {
	k, _ := c.pool.calls.Get().(*call)
	if k == nil {
		k = newCall()
	}
	k.c, k.x, k.windows.c = c, x, c
	k.refs.Store(1)
	k.turn.Store(false)
	k.abandoned, k.late, k.unposted, k.copies = false, false, false, false
	k.reply = noWindow
	k.info = CallInfo{}
	k.describe()
	return k
}

// describe notes program, version and procedure, once the message has been made.
func (k *call) describe() {
	if m := k.x.Call.Inline; len(m) >= 24 {
		k.info.Program = binary.BigEndian.Uint32(m[12:])
		k.info.Version = binary.BigEndian.Uint32(m[16:])
		k.info.Procedure = binary.BigEndian.Uint32(m[20:])
	}
}

// unref drops a reference. The last one gives back everything.
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

// forgetLayout undoes layout.
func (k *call) forgetLayout() {
	k.c.pool.put(k.buf, 0)
	k.windows.reset()
	clear(k.written)
	clear(k.pieces)
	k.written, k.results, k.pieces = k.written[:0], k.results[:0], k.pieces[:0]
	k.buf, k.sendList[0] = transport.Slice{}, transport.Slice{}
	k.reply = noWindow
	k.info.unsent()
}

// Release is called when the reply has been decoded.
func (k *call) Release() { k.unref() }

// callSent is the Completer of the Send of a call.
type callSent call

// Complete gives the memory of the Send back. After a failure the connection ends, and with it the
// call.
func (s *callSent) Complete(_ *transport.WorkRequest, err error) {
	k := (*call)(s)
	if err == errUnposted {
		k.unposted = true
	}
	c := k.c
	c.pool.put(k.buf, 0) // now, and not only when the reply has come
	k.buf, k.sendList[0] = transport.Slice{}, transport.Slice{}
	c.queue.completed()
	k.unref()
}
