package gateway

import (
	"context"
	"net"
)

type clientKey struct{}

// ClientAddr returns the address of the client whose calls a connection will carry, from the
// context of a DialFunc. It returns nil for other contexts.
//
// A server that trusts ports below 1024 trusts the process that has one. A DialFunc that may use
// such ports should use one only for clients that do.
func ClientAddr(ctx context.Context) net.Addr {
	a, _ := ctx.Value(clientKey{}).(net.Addr)
	return a
}
