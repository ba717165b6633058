package gsstest

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// played is a direct connection from a client to a server. It passes replies through mangle, if
// set.
type played struct {
	*conn
	s      *server
	xid    atomic.Uint32
	mangle func(reply []byte) []byte
}

func (p *played) RoundTrip(_ context.Context, x *oncrpc.Exchange) error {
	if err := x.Seal(p.xid.Add(1)); err != nil {
		return err
	}
	reply := p.s.answers(p.conn, x.Call.AppendTo(nil))
	if reply == nil {
		return net.ErrClosed
	}
	if p.mangle != nil {
		reply = p.mangle(reply)
	}
	x.SetReply(reply, nil, nil)
	return nil
}

func asError[E error](err error) (E, bool) { return errors.AsType[E](err) }
