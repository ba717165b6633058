package nfsserver

import (
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// peerOf returns the IP address at the other end of a connection, or the zero address where there is
// none. It does not allocate.
func peerOf(conn oncrpc.Transport) netip.Addr {
	a, ok := conn.RemoteAddr().(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.Addr{}
	}
	// Prefixes know neither zones nor IPv4 in IPv6.
	return a.AddrPort().Addr().Unmap().WithZone("")
}

// admit checks that a peer may use an export: nfs3.ErrAcces.
func (s *Server) admit(e *export, conn oncrpc.Transport) error {
	if len(e.Clients) == 0 {
		return nil
	}
	peer := peerOf(conn)
	if e.admits(peer) {
		return nil
	}
	s.stats.refused.Add(1)
	s.faults.Fault(conn.RemoteAddr(), "nfs: the export is not for this peer", e, "export", e.Path)
	return nfs3.ErrAcces
}
