//go:build !linux

package sctp

import "net"

// anyAddress lets the system choose the address to answer from.
func anyAddress(conn *net.UDPConn) (packetConn, error) { return bound{conn}, nil }
