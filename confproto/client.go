package confproto

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// ErrUnavailable: the server has no CONF_RDMA under that number, or not in version 1. It is an
// *oncrpc.AcceptError, too.
var ErrUnavailable = errors.New("the server does not offer CONF_RDMA")

// Options are what a client asks for. The zero value is usable.
type Options struct {
	// Program is the number to call; 0 means Program.
	Program uint32
	// MaxCall and MaxReply are the largest messages in bytes, headers included, to send and to
	// receive inline, from MinSize to MaxSize; 0 means DefaultSize.
	MaxCall, MaxReply int
	// Flavor is the flavour of the call; nil is AUTH_NONE.
	Flavor oncrpc.ClientFlavor
}

// Configure calls CONF_RDMA and puts the answer into force on conn: what the server answers is
// observed, be it smaller or larger than what was asked for, as far as this side can. It returns
// the answer as it came; conn.Settings says what was made of it.
//
// It should be the first call of a connection, which begins with one credit: others then wait until
// it is answered. Later it works, too, beside other calls, with a call of the null procedure before
// it; but shorter receives may be posted already, so that less can be asked for. There should be
// one Configure at a time.
//
// A value of o that is out of range is a *oncrpc.ConfigError, and nothing is sent. An error that
// wraps ErrUnavailable says that the server does not have the program; one that wraps an
// *oncrpc.AuthError, that it wants a better credential. They, and all other errors, leave the
// connection as it was. When ctx ends before the answer is here, or it cannot be decoded, the
// server may have agreed all the same: replies as long as it was told are received.
func Configure(ctx context.Context, conn *rpcrdma.Conn, o Options) (Reply, error) {
	maxCall, err := configured("Options", "MaxCall", o.MaxCall)
	if err != nil {
		return Reply{}, err
	}
	maxReply, err := configured("Options", "MaxReply", o.MaxReply)
	if err != nil {
		return Reply{}, err
	}
	is := conn.Settings()
	recv := max(maxReply, is.MaxRecv)
	recv = min(conn.EnlargeReceives(recv), recv)
	args := Request{
		MaxCallSendSize:  uint32(maxCall),
		MaxReplySendSize: uint32(recv),
		MaxRDMARead:      uint32(is.PeerReads),
	}
	var reply Reply
	client := oncrpc.NewClient(conn, cmp.Or(o.Program, Program), Version, o.Flavor)
	if grant, _, _ := conn.Credits(); grant > 1 {
		// The one receive that may be short is used up by the next message. With other calls under
		// way that need not be the answer: it can be a reply that is as long as the server is told
		// now.
		err = client.Call(ctx, 0, nil, nil)
	}
	if err == nil {
		err = client.Do(ctx, &oncrpc.Request{Procedure: ProcConfigure, Args: &args, Reply: &reply, MaxReply: messageLen})
	}
	if err != nil {
		if unavailable(err) {
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return Reply{}, err
	}
	conn.UpdateSettings(func(s *rpcrdma.Settings) {
		s.MaxSend, s.MaxRecv = sizeOf(reply.MaxCallSendSize), recv
		s.Reads = readsOf(reply.MaxRDMARead)
		s.PeerAlign = alignOf(reply.Align, s.MaxSend)
	})
	return reply, nil
}

// unavailable reports whether the server has answered that it does not have the procedure.
func unavailable(err error) bool {
	var accept *oncrpc.AcceptError
	if !errors.As(err, &accept) {
		return false
	}
	switch accept.Stat {
	case oncrpc.ProgUnavail, oncrpc.ProgMismatch, oncrpc.ProcUnavail:
		return true
	}
	return false
}
