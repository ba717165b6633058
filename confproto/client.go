package confproto

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// ErrUnavailable: the server does not offer CONF_RDMA under that program number in version 1. The
// error wraps an *oncrpc.AcceptError, too.
var ErrUnavailable = errors.New("the server does not offer CONF_RDMA")

// Options are what a client asks for. The zero value is usable.
type Options struct {
	// Program is the number to call; 0 means Program.
	Program uint32
	// MaxCall and MaxReply are the largest messages in bytes, headers included, to send and to
	// receive inline, from MinSize to MaxSize; 0 means DefaultSize.
	MaxCall, MaxReply int
	// Flavor is the security flavour of the call; nil means AUTH_NONE.
	Flavor oncrpc.ClientFlavor
}

// Configure calls CONF_RDMA and puts the answer into force on conn, as far as this side can. The
// values may be smaller or larger than those asked for. Configure returns the answer as it came;
// conn.Settings has the values in force.
//
// It should be the first call on a connection. A connection begins with one credit, so other calls
// then wait for the answer. Configure also works later, beside other calls, and calls the null
// procedure first then. But shorter receives may be posted by then, so less can be asked for. There
// should be one Configure at a time.
//
// It fails with
//
//   - a *oncrpc.ConfigError if a value of o is out of range; nothing is sent then;
//   - an error that wraps ErrUnavailable if the server does not have the program;
//   - an error that wraps an *oncrpc.AuthError if the server demands a better credential;
//   - any error of an oncrpc.Client.
//
// After an error the settings are as before. If ctx ended first, or the answer cannot be decoded,
// the server may have agreed all the same; this side can receive the replies that it may now send.
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
		// One receive may still be short. The next message uses it up. With other calls under way
		// that message might be a reply of the new length, so let the reply to NULL be first.
		err = client.Call(ctx, 0, nil, nil)
	}
	if err == nil {
		err = client.Do(ctx, &oncrpc.Request{
			Procedure: ProcConfigure, Args: &args, Reply: &reply, MaxReply: messageLen,
		})
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

// unavailable reports whether err is the server's answer that it does not have the procedure.
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
