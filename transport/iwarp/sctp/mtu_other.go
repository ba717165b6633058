//go:build !linux

package sctp

import "net/netip"

// pathMTU returns 0: unknown.
func pathMTU(netip.AddrPort) int { return 0 }
