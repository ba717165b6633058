package rpcbind

import (
	"net"
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Network identifiers (RFC 5665; rdma and rdma6: RFC 8166).
const (
	NetidTCP   = "tcp"
	NetidTCP6  = "tcp6"
	NetidUDP   = "udp"
	NetidUDP6  = "udp6"
	NetidRDMA  = "rdma"
	NetidRDMA6 = "rdma6"
	NetidUnix  = "local" // the Unix socket, on Linux
)

// known reports whether id is one of the network identifiers above.
func known(id string) bool {
	switch id {
	case NetidTCP, NetidTCP6, NetidUDP, NetidUDP6, NetidRDMA, NetidRDMA6, NetidUnix:
		return true
	}
	return false
}

// netid returns the network identifier of a connection with an end at address a, or "" if it is of
// no known kind. A connection over IP that is not of package recordmark is RPC-over-RDMA.
func netid(conn oncrpc.Transport, a net.Addr) string {
	switch a := a.(type) {
	case *net.UnixAddr:
		return NetidUnix
	case withIP:
		base := NetidRDMA
		if _, ok := conn.(*recordmark.Conn); ok {
			base = NetidTCP
		}
		if a.AddrPort().Addr().Unmap().Is4() {
			return base
		}
		return base + "6"
	}
	return ""
}

// withIP is an address of any transport over IP.
type withIP interface{ AddrPort() netip.AddrPort }
