package rpcrdma

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// RoundTrip makes a call. It implements oncrpc.Transport. It fails with an *OpError that wraps
//
//   - the error of ctx, if ctx has ended;
//   - net.ErrClosed, if the connection has ended;
//   - a *oncrpc.CallTooLongError or *oncrpc.ReplyTooLongError;
//   - a *PeerError, if the peer answered with RDMA_ERROR;
//   - ErrMalformed, if the reply was invalid;
//   - transport.ErrNoMemory, if there was no memory or window for the call.
//
// It wraps oncrpc.ErrNotSent, too, if ctx or the connection ended before the call was posted.
func (c *Conn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	k := getCall(&c.link, x)
	err := c.caller.roundTrip(ctx, k)
	if err != nil {
		err = &OpError{"call", c.info.RemoteAddr, err}
	}
	c.traffic.ended(&k.info)
	if c.cfg.Observer != nil {
		k.info.Err = err
		c.cfg.Observer.CallDone(&k.info)
	}
	if err != nil {
		k.unref()
		return err
	}
	m := &k.recv.Message
	x.SetReply(m.Body, k.written, k)
	m.DecodeRest(&x.Reply)
	return nil
}

// roundTrip makes a call: it plans the call, gets a credit, encodes and sends it (transmit), waits
// for the reply or the end of ctx, ends the windows, and copies results to their buffers.
func (cl *caller) roundTrip(ctx context.Context, k *call) error {
	l := cl.l
	if err := ctx.Err(); err != nil {
		return err
	}
	x := k.x
	x.MaxReply = xdr.RoundUp(x.MaxReply)
	if err := k.layPlan(l.settings.Load()); err != nil { // as far as the call is encoded yet
		return err
	}
	var err error
	if k.credit, err = cl.window.Acquire(ctx); err != nil {
		return notSent(err)
	}
	k.info.Credits = k.credit.InUse
	if k.credit.Waited {
		atomic.AddUint64(&l.traffic.CreditWaits, 1)
	}
	if err := cl.transmit(k); err != nil {
		cl.window.ReleaseUnsent()
		return cl.ended(ctx, err)
	}
	if done := ctx.Done(); k.turn.Swap(true) {
		err = k.result
	} else if done == nil {
		err = <-k.done
	} else {
		select {
		case err = <-k.done:
		case <-done:
			cl.abandon(k)
			return ctx.Err()
		}
	}
	k.windows.revoke()
	switch {
	case k.unposted:
		return notSent(err)
	case err != nil:
		return k.replyTooLong(err)
	}
	for i, j := range k.results {
		// Copy only what was written: the rest of the window is not part of the result.
		w := k.windows.at(j)
		if w == nil || w.result == nil || i >= len(k.written) {
			continue
		}
		if k.written[i].Position == xdr.Floating {
			copy(w.result, w.owned.Bytes[:len(k.written[i].Data)])
		}
	}
	return nil
}

// ended returns why a call that could not be posted failed. If err says that the connection has
// ended, ended waits until the reason is known.
func (cl *caller) ended(ctx context.Context, err error) error {
	if !errors.Is(err, net.ErrClosed) {
		return err
	}
	select {
	case <-cl.l.done:
		return notSent(cl.l.err) // which does not change any more
	case <-ctx.Done():
		return notSent(err)
	}
}

// replyTooLong turns an ERR_CHUNK that can mean nothing else into an errReplyTooLong: the call had
// neither read chunks nor padding.
func (k *call) replyTooLong(err error) error {
	peer, ok := errors.AsType[*PeerError](err)
	if !ok || peer.Code != wire.ErrChunk || k.header.Type != wire.TypeMsg || len(k.header.Reads) > 0 {
		return err
	}
	return &errReplyTooLong{&oncrpc.ReplyTooLongError{Max: k.x.ReplyLimit()}, peer}
}

// errReplyTooLong is an ERR_CHUNK with a known cause. It leaves out the causes that the text of a
// PeerError lists.
type errReplyTooLong struct {
	room   *oncrpc.ReplyTooLongError
	answer *PeerError
}

func (e *errReplyTooLong) Error() string {
	return fmt.Sprintf("%v: peer answered RDMA_ERROR: %v", e.room, e.answer.Code)
}

func (e *errReplyTooLong) Unwrap() []error { return []error{e.room, e.answer} }
