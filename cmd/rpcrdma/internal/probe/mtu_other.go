//go:build !linux

package probe

import (
	"net"
)

// tcpPathOf returns zeros: only Linux tells.
func tcpPathOf(*net.TCPConn) tcpPath { return tcpPath{} }
