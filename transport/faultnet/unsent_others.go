//go:build !linux

package faultnet

import "net"

// unsent returns zero: not all systems tell.
func unsent(*net.TCPConn) int { return 0 }
