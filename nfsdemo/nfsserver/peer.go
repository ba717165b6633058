package nfsserver

import (
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// admit checks that a peer may use an export: nfs3.ErrAcces.
func (s *Server) admit(e *export, conn oncrpc.Transport) error {
	if len(e.Clients) == 0 || peerhost.Of(conn.RemoteAddr()).In(e.Clients) {
		return nil
	}
	s.stats.refused.Add(1)
	s.log.Fault(conn.RemoteAddr(), "nfs: the export is not for this peer", e, "export", e.Path)
	return nfs3.ErrAcces
}
