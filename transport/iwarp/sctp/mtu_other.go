//go:build !linux

package sctp

import "net/netip"

// pathMTU is not known.
func pathMTU(netip.AddrPort) int { return 0 }
