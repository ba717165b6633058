//go:build !linux

package faultnet

import "net"

// unsent returns 0: other systems do not tell.
func unsent(*net.TCPConn) int { return 0 }
