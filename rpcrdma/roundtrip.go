package rpcrdma

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// RoundTrip makes a call: oncrpc.Transport. Its error is an *OpError that wraps the context's when
// that has ended, a *oncrpc.CallTooLongError, a *oncrpc.ReplyTooLongError, a *PeerError, or
// ErrMalformed; an error that wraps net.ErrClosed says that the connection has ended.
func (c *Conn) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	k := getCall(c, x)
	err := c.caller.roundTrip(ctx, k)
	if err != nil {
		err = &OpError{"call", c.info.RemoteAddr, err}
	}
	c.traffic.made(&k.info)
	if c.cfg.Observer != nil {
		k.info.Err = err
		c.cfg.Observer.CallDone(&k.info)
	}
	if err != nil {
		k.unref()
		return err
	}
	m := &k.recv.message
	x.SetReply(m.body, k.written, k)
	m.decode(&x.Reply)
	return nil
}

// roundTrip makes a call, in this order: it is planned, gets a credit, is made and sent (transmit),
// waits for received or for the end of ctx, ends its windows, and copies results to their buffers.
func (cl *caller) roundTrip(ctx context.Context, k *call) error {
	c := cl.conn
	if err := ctx.Err(); err != nil {
		return err
	}
	x := k.x
	x.MaxReply = xdr.RoundUp(x.MaxReply)
	if err := k.layPlan(c.settings.Load()); err != nil { // of what is made of the call as yet
		return err
	}
	var err error
	if k.credit, err = cl.window.Acquire(ctx); err != nil {
		return err
	}
	k.info.Credits = k.credit.InUse
	if k.credit.Waited {
		c.traffic.creditWaits.Add(1)
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
	if err != nil {
		return k.replyTooLong(err)
	}
	for i, j := range k.results {
		// Only as much as was written: what lies behind it is not the result's.
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

// ended returns why the connection has ended, if err comes of that: who posts may notice the end
// before the reason is known.
func (cl *caller) ended(ctx context.Context, err error) error {
	c := cl.conn
	if !errors.Is(err, net.ErrClosed) {
		return err
	}
	select {
	case <-c.done:
		return c.Err()
	case <-ctx.Done():
		return err
	}
}

// replyTooLong adds a *oncrpc.ReplyTooLongError to the ERR_CHUNK that can mean nothing else: this
// end has made the header, and there is neither a chunk for the peer to read nor padding.
func (k *call) replyTooLong(err error) error {
	peer, ok := errors.AsType[*PeerError](err)
	if !ok || peer.Code != ErrChunk || k.header.Type != TypeMsg || len(k.header.Reads) > 0 {
		return err
	}
	return fmt.Errorf("%w: %w", &oncrpc.ReplyTooLongError{Max: k.x.ReplyLimit()}, err)
}
