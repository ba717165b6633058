package words

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// connectionReason says why a call of NFS got no answer, or an error of RPC, without the layers
// that wrapped err. It is empty for other errors.
func connectionReason(err error) string {
	var call *oncrpc.CallError
	if !errors.As(err, new(*nfsclient.Error)) || !errors.As(err, &call) {
		return ""
	}
	var (
		connect *ConnectError
		inner   *oncrpc.CallError
	)
	// the first call, which shows whether this is an NFS server
	if errors.As(err, &connect) && errors.As(connect.err, &inner) && inner == call {
		return connect.text
	}
	var again *redial.OpError
	if errors.As(call, &again) && again.TriedFor > 0 {
		return fmt.Sprintf("no connection to the server for %v: %s",
			roundDuration(again.TriedFor), EndReason(again.Err))
	}
	return EndReason(call)
}

// EndReason says why a call failed.
func EndReason(err error) string {
	var (
		connect *ConnectError
		made    *gss.OpError
		denied  *oncrpc.AuthError
	)
	switch cause := Bottom(err); {
	case errors.As(err, &connect):
		return connect.text
	case errors.As(err, &made):
		return contextReason(made)
	case errors.As(err, &denied) && denied.Stat == oncrpc.AuthTooWeak:
		return "the server wants proof of who calls: use sec=krb5 in the URL, with Kerberos, or tls over TCP (" +
			denied.Stat.String() + ")"
	case errors.As(err, new(*oncrpc.AcceptError)), errors.As(err, new(*oncrpc.AuthError)),
		errors.As(err, new(*oncrpc.VersionError)):
		return "the server does not accept the call: " + cause.Error()
	case errors.Is(err, redial.ErrStalled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, os.ErrDeadlineExceeded),
		errors.Is(err, roce.ErrPeerTimeout):
		return "the server does not answer"
	case EndedByPeer(err):
		return "the server has ended the connection"
	case errors.Is(err, net.ErrClosed):
		return "the connection to the server has ended: " + cause.Error()
	default:
		return cause.Error()
	}
}

// Bottom unwraps the errors that only say which operation failed.
func Bottom(err error) error {
	for {
		switch e := err.(type) {
		case *nfsclient.Error:
			err = e.Err
		case *oncrpc.CallError:
			err = e.Err
		case *redial.OpError:
			err = e.Err
		case *rpcrdma.OpError:
			err = e.Err
		case *recordmark.OpError:
			err = e.Err
		case *rpcbind.OpError:
			err = e.Err
		case *transport.OpError:
			err = e.Err
		case *net.OpError:
			err = e.Err
		case interface{ Unwrap() []error }: // ErrClosed, and the cause
			all := e.Unwrap()
			if len(all) == 0 {
				return err
			}
			err = all[len(all)-1]
		default:
			return err
		}
	}
}

// roundDuration rounds a waiting time for people.
func roundDuration(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(time.Second)
}
