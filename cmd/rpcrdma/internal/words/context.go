package words

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
)

// contextReason says why a context of RPCSEC_GSS could not be made.
func contextReason(err *gss.OpError) string {
	var (
		status *gss.StatusError
		denied *oncrpc.AuthError
		call   *oncrpc.CallError
	)
	const what = "no Kerberos context with the server: "
	switch {
	case errors.As(err.Err, &status) && status.Err != nil:
		// an error of this end, or in the server's token
		return what + status.Err.Error()
	case errors.As(err.Err, &status):
		return what + "it answers " + status.Error() + "; its log says why"
	case errors.As(err.Err, &denied):
		return "the server takes no RPCSEC_GSS, which Kerberos needs (" + denied.Stat.String() +
			"): write sec=sys in the URL to call without"
	case errors.As(err.Err, &call), errors.Is(err.Err, net.ErrClosed):
		return what + EndReason(err.Err)
	case errors.Is(err.Err, context.DeadlineExceeded):
		return what + "it takes too long; does the realm's KDC answer?"
	}
	return what + err.Err.Error()
}
