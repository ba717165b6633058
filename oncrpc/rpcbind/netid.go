package rpcbind

import (
	"net"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Network identifiers (RFC 5665; rdma and rdma6: RFC 8166).
const (
	TCP   = "tcp"
	TCP6  = "tcp6"
	UDP   = "udp"
	UDP6  = "udp6"
	RDMA  = "rdma"
	RDMA6 = "rdma6"
	Unix  = "local" // the Unix socket, on Linux
)

// known reports whether id is one of the network identifiers above.
func known(id string) bool {
	switch id {
	case TCP, TCP6, UDP, UDP6, RDMA, RDMA6, Unix:
		return true
	}
	return false
}

// netid returns the network identifier of a connection one of whose ends has the address a, "" if it is of no known kind. Over IP, what
// is no stream of records is RPC-over-RDMA: of these two, both have addresses of TCP.
func netid(conn oncrpc.Transport, a net.Addr) string {
	switch a := a.(type) {
	case *net.UnixAddr:
		return Unix
	case *net.TCPAddr:
		base := RDMA
		if _, ok := conn.(*recordmark.Conn); ok {
			base = TCP
		}
		if a.IP.To4() != nil {
			return base
		}
		return base + "6"
	}
	return ""
}
