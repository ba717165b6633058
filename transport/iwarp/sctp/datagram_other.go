//go:build !linux

package sctp

import "net"

// anyAddress leaves it to the system from which address it answers.
func anyAddress(conn *net.UDPConn) (packetConn, error) { return bound{conn}, nil }
