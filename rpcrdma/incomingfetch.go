package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// fetchMessage continues with a call that has its memory. A long message is fetched first.
func (in *incoming) fetchMessage() {
	if in.args.lists.Long && len(in.args.loads) == 0 {
		in.fetchLong()
		return
	}
	in.dispatch()
}

// fetchLong fetches a long message.
func (in *incoming) fetchLong() {
	if err := in.args.readMessage((*longRead)(in)); errors.Is(err, errNoBuffer) {
		in.l.cfg.faults.Fault(in.l.info.RemoteAddr, "rpcrdma: no memory for a call", nil,
			"xid", in.header.XID, "err", err)
		in.refuse(wire.ErrChunk)
	} else if err != nil {
		in.abort(err)
	}
}

// longRead is the Completer of the Reads that fetch a long message.
type longRead incoming

// Complete continues with the call when the last Read is complete.
func (r *longRead) Complete(wr *transport.WorkRequest, err error) {
	in := (*incoming)(r)
	last, err := in.args.completed(wr, err)
	switch {
	case !last:
	case err != nil:
		in.abort(err)
	default:
		in.fetchedMessage()
	}
}

// fetchedMessage continues with a long message that is here. It may turn out to be a reply.
func (in *incoming) fetchedMessage() {
	l := in.l
	isCall, err := checkLong(in.message.Body, in.header.XID)
	switch {
	case err != nil:
		l.fault(&l.stats.Malformed, "call refused", in.header.XID, err)
		in.refuse(wire.ErrChunk)
	case isCall:
		in.dispatch()
	default:
		l.mu.Lock()
		l.granter.WasNoCall()
		c := in.concludes(0)
		l.mu.Unlock()
		c.goOn()
		in.finish()
	}
}

// concludes gives a long message to the caller as a reply, with its number in the order of arrival.
// Conn.mu is held.
func (in *incoming) concludes(number uint64) (c conclusion) {
	if in.l.over {
		return c
	}
	r := in.recv
	in.recv = nil
	c = in.rs.caller.conclude(r, nil, number, in.args.loads)
	if c.k != nil && c.k.fetch != nil { // which has them now
		in.args.loads = in.args.loads[:0]
	}
	return c
}

// checkLong reports whether a long message is a call or a reply.
func checkLong(b []byte, xid uint32) (isCall bool, err error) {
	if len(b) < 8 {
		return false, fmt.Errorf("%w: no message in the chunk at position 0", wire.ErrMalformed)
	}
	switch t := oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])); {
	case t == oncrpc.MsgReply:
		return false, nil
	case t != oncrpc.MsgCall:
		return false, fmt.Errorf("%w: no call in the chunk at position 0", wire.ErrMalformed)
	case binary.BigEndian.Uint32(b) != xid:
		return true, wire.ErrXID
	}
	return true, nil
}

// dispatch gives the call to the server.
func (in *incoming) dispatch() {
	if !in.args.lists.Long {
		add(&in.l.traffic.InlineReceived, in.message.Len())
	}
	if len(in.args.lists.Reads) > 0 {
		in.args.describe()
	}
	in.message.Decode(&in.dec, in.args.chunks)
	if in.server == unavailable {
		atomic.AddUint64(&in.l.stats.Unserved, 1)
	}
	in.server.Dispatch(in)
}

// abort drops a call whose message could not be fetched, or whose reply has no memory, and ends the
// connection.
func (in *incoming) abort(err error) {
	in.failed(err)
	in.Drop()
}

// failed logs a call that is aborted, and ends the connection. If the connection has ended already,
// there may be many such calls, and the log has the reason: then the level is DEBUG.
func (in *incoming) failed(err error) {
	const msg = "rpcrdma: call aborted"
	peer, xid := in.l.info.RemoteAddr, in.header.XID
	if errors.Is(err, net.ErrClosed) || errors.Is(err, transport.ErrFlushed) {
		in.l.cfg.Logger.Debug(msg, "peer", peer, "xid", xid, "err", err)
	} else {
		in.l.cfg.faults.Fault(peer, msg, nil, "xid", xid, "err", err)
	}
	in.l.fail(err)
}
