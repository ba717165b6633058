//go:build !linux

package sctp

import (
	"context"
	"net/netip"
)

// anyAddress lets the system choose the address to answer from.
func anyAddress(_ context.Context, at netip.AddrPort) (packetConn, error) { return bindTo(at) }
