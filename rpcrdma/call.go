package rpcrdma

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/credits"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/post"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// call is one call of this side. It is reused when the caller, the table of pending calls and the
// Send have all let go of it.
type call struct {
	l    *link
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

	recv   *memory.Receive // with the reply
	fetch  *replyFetch     // for a reply with a read list (Draft)
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
	header  wire.Header
	lists   wire.Lists // of the reply
	info    CallInfo
	chain   post.Chain // invalidates the windows of an abandoned call
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
func getCall(l *link, x *oncrpc.Exchange) *call {
	k, _ := l.shared.calls.Get().(*call)
	if k == nil {
		k = newCall()
	}
	k.l, k.x, k.windows.l = l, x, l
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
		k.l.receives.Release(k.recv)
	}
	k.forgetLayout()
	if k.fetch != nil {
		k.fetch.release()
		k.fetch = nil
	}
	shared := k.l.shared
	k.l, k.windows.l, k.x, k.recv, k.result = nil, nil, nil, nil, nil
	shared.calls.Put(k)
}

// forgetLayout undoes layout.
func (k *call) forgetLayout() {
	k.l.shared.Put(k.buf, 0)
	k.windows.reset()
	clear(k.written)
	clear(k.pieces)
	clear(k.lists.Reads)
	k.lists.Reads, k.lists.Long = k.lists.Reads[:0], false
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
	if err == post.ErrUnposted {
		k.unposted = true
	}
	k.l.shared.Put(k.buf, 0) // now, and not only when the reply has come
	k.buf, k.sendList[0] = transport.Slice{}, transport.Slice{}
	k.l.queue.Completed()
	k.unref()
}
