package probe

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// caller is the connection to the server, and calls over it. Steps from call on have it.
type caller struct {
	*scene
	conn oncrpc.Transport // nil: none

	root   *nfsmount.Root      // of the export for the steps after mount
	flavor oncrpc.ClientFlavor // of calls for that export
}

// connect makes a connection by the flags, without a call.
func (c *caller) connect(ctx context.Context) (oncrpc.Transport, error) {
	return c.server.DialScheme(ctx, c.at)
}

// end destroys the contexts, and closes the connection.
func (c *caller) end(ctx context.Context) {
	if c.conn != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reach.UnmountTime)
		defer cancel()
		c.server.Forget(ctx, c.conn)
		c.disconnect()
	}
}

// disconnect ends the connection.
func (c *caller) disconnect() {
	if c.conn != nil {
		reach.End(c.conn)
		c.conn = nil
	}
}

// client returns a client with the flavour of the export.
func (c *caller) client() *nfsclient.Client { return nfsclient.New(c.conn, c.flavor) }

// reason says why something failed, and for a permission error who was refused.
func (c *caller) reason(err error) string {
	text := words.Reason(err)
	if causeOf(err) == CauseDenies {
		text += c.denied()
	}
	return text
}

// denied continues "permission denied" with who was refused.
func (c *caller) denied() string {
	if c.flavor.Flavor() == oncrpc.FlavorGSS {
		return remote.DeniedTo(c.flags.Connections.Kerberos.Name())
	}
	text := c.flags.Connections.Denied()
	if why := c.server.Fallback(c.root); why != "" {
		text += "; " + why
	}
	return text
}
