package rpcrdma

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// received takes a call, with its message if that is inline.
func (rs *responder) received(r *receive) {
	if in := rs.newCall(r); in != nil {
		in.admit()
	}
}

// refuse answers a bad call with an RDMA_ERROR.
func (rs *responder) refuse(r *receive, err error, code ErrCode) {
	c := rs.conn
	count := &c.stats.malformed
	if code == ErrVers {
		count = &c.stats.badVersion
	}
	c.fault(count, "message refused", r.header.XID, err)
	r.message = message{}
	if in := rs.newCall(r); in != nil {
		in.refuse(code)
	}
}

// newCall makes a call of a message, or returns nil if the connection has ended.
func (rs *responder) newCall(r *receive) *incoming {
	c := rs.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over {
		return nil
	}
	c.flow.callArrived(r)
	return rs.newIncoming(r)
}

// newIncoming makes an incoming of the message in r; Conn.mu is held.
func (rs *responder) newIncoming(r *receive) *incoming {
	c := rs.conn
	s := rs.server
	if s == noServer {
		s = unavailable
	}
	in := getIncoming(c, s)
	in.recv, in.header, in.message = r, &r.header, r.message
	return in
}

// admit checks the call, and continues with it when there is memory for it.
func (in *incoming) admit() {
	c := in.c
	c.stats.callsReceived.Add(1)
	if err := in.checkChunks(); err != nil {
		c.fault(&c.stats.malformed, "call refused", in.header.XID, err)
		in.refuse(ErrChunk)
		return
	}
	if !c.flow.admit(in) {
		c.stats.waited.Add(1)
		return
	}
	in.fetchMessage()
}

// checkChunks checks the chunk lists of the call, and computes how much memory it needs.
func (in *incoming) checkChunks() error {
	c, h, args := in.c, in.header, &in.args
	var err error
	if args.reads, err = h.readChunks(args.reads[:0], c.cfg.MaxMessage); err != nil {
		if errors.Is(err, xdr.ErrLimit) {
			err = fmt.Errorf("%w: %w", &oncrpc.CallTooLongError{Max: c.cfg.MaxMessage}, err)
		}
		return err
	}
	if len(args.reads) > 0 && c.settings.Load().Reads == 0 {
		return transport.ErrNoReads
	}
	args.long = len(args.reads) > 0 && args.reads[0].Position == 0
	switch {
	case args.long && h.Type != TypeNoMsg:
		return fmt.Errorf("%w: read chunk at position 0 beside a message", ErrMalformed)
	case !args.long && h.Type == TypeNoMsg:
		return fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed)
	case !args.long:
		err = chunks.CheckPositions(args.reads, len(in.body)+len(in.more))
	default:
		err = chunks.CheckPositions(args.reads[1:], args.reads[0].Len)
	}
	if err != nil {
		return err
	}
	offered := uint64(0)
	for _, w := range h.Writes {
		offered += w.Len()
	}
	offered += h.Reply.Len()
	in.needs = int64(min(offered, uint64(c.cfg.MaxMessage))) - in.reserved
	for i := range args.reads {
		in.needs += int64(args.reads[i].Len)
	}
	return nil
}

// fetchMessage continues with a call that has its memory. A long message is fetched first.
func (in *incoming) fetchMessage() {
	if in.args.long && len(in.args.loads) == 0 {
		in.fetchLong()
		return
	}
	in.dispatch()
}

// fetchLong fetches a long message.
func (in *incoming) fetchLong() {
	if err := in.args.readMessage((*longRead)(in)); errors.Is(err, errNoBuffer) {
		in.c.cfg.faults.Fault(in.c.info.RemoteAddr, "rpcrdma: no memory for a call", nil,
			"xid", in.header.XID, "err", err)
		in.refuse(ErrChunk)
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
	c := in.c
	isCall, err := checkLong(in.body, in.header.XID)
	switch {
	case err != nil:
		c.fault(&c.stats.malformed, "call refused", in.header.XID, err)
		in.refuse(ErrChunk)
	case !isCall:
		c.mu.Lock()
		c.flow.wasNoCall()
		in.concludes(0)
	default:
		in.dispatch()
	}
}

// checkLong reports whether a long message is a call or a reply.
func checkLong(b []byte, xid uint32) (isCall bool, err error) {
	if len(b) < 8 {
		return false, fmt.Errorf("%w: no message in the chunk at position 0", ErrMalformed)
	}
	switch t := oncrpc.MsgType(binary.BigEndian.Uint32(b[4:])); {
	case t == oncrpc.MsgReply:
		return false, nil
	case t != oncrpc.MsgCall:
		return false, fmt.Errorf("%w: no call in the chunk at position 0", ErrMalformed)
	case binary.BigEndian.Uint32(b) != xid:
		return true, ErrXID
	}
	return true, nil
}

// concludes gives a long message to the caller as a reply, with its number in the order of arrival.
// Conn.mu is held, and is unlocked on return.
func (in *incoming) concludes(number uint64) {
	c := in.c
	if c.over {
		c.mu.Unlock()
	} else {
		r := in.recv
		in.recv = nil
		c.caller.conclude(r, nil, number, &in.args)
	}
	in.finish()
}

// dispatch gives the call to the server.
func (in *incoming) dispatch() {
	if !in.args.long {
		add(&in.c.traffic.inlineReceived, len(in.body)+len(in.more))
	}
	if len(in.args.reads) > 0 {
		in.args.describe()
	}
	in.beginDecoding()
	if in.server == unavailable {
		in.c.stats.unserved.Add(1)
	}
	in.server.Dispatch(in)
}

// beginDecoding sets the decoder to the beginning of the message.
func (in *incoming) beginDecoding() {
	in.dec.Reset(in.body, in.args.chunks)
	in.message.decode(&in.dec)
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
	peer, xid := in.c.info.RemoteAddr, in.header.XID
	if errors.Is(err, net.ErrClosed) || errors.Is(err, transport.ErrFlushed) {
		in.c.cfg.Logger.Debug(msg, "peer", peer, "xid", xid, "err", err)
	} else {
		in.c.cfg.faults.Fault(peer, msg, nil, "xid", xid, "err", err)
	}
	in.c.fail(err)
}
