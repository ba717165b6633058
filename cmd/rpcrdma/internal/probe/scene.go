package probe

import (
	"context"
	"strings"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// scene is what all steps share: the flags, the report, and the server as far as it is known.
type scene struct {
	flags  *Flags
	server *remote.Server // how to connect
	report *Report

	at       reach.Target         // the URL, with the port once it is known
	loopback bool                 // the server's address is a loopback address
	maps     func() registrations // waits for rpcbind's registrations; nil before the step name
}

// limit bounds a part of a step.
func (s *scene) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.flags.Timeout.Duration)
}

// null calls NULL of NFS on a connection.
func (s *scene) null(ctx context.Context, conn oncrpc.Transport) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	return nfsclient.New(conn, oncrpc.AuthNone()).Null(ctx)
}

// explain says what to do about an error of connecting to a target.
func (s *scene) explain(t reach.Target, err error) string {
	x := words.Explainer{Asked: s.server.Target.Rpcbind != 0,
		NoRPCBind: s.maps != nil && s.maps().err != nil}
	return x.Explain(t, err).Error()
}

// instead returns the URL with another scheme and port.
func (s *scene) instead(scheme string, port int) string {
	t := reach.Target{Scheme: scheme, Host: s.at.Host, Port: port, Path: s.at.Path}
	return strings.TrimSuffix(t.String(), "/")
}
