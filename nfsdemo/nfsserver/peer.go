package nfsserver

import (
	"net/netip"
	"sync"

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
	if s.refused.first(refusal{peer, e}) {
		s.log.Warn("nfs: the export is not for this peer", "export", e.Path, "peer", conn.RemoteAddr())
	}
	return nfs3.ErrAcces
}

// refusal is a peer that wanted an export.
type refusal struct {
	peer netip.Addr
	e    *export
}

// maxRefusals bounds the log that peers can cause, and the memory.
const maxRefusals = 256

// refusals is what has been logged.
type refusals struct {
	mu   sync.Mutex // guards seen
	seen map[refusal]struct{}
}

// first reports whether r shall be logged: it is new, and there have not been too many.
func (l *refusals) first(r refusal) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.seen[r]; ok || len(l.seen) == maxRefusals {
		return false
	}
	if l.seen == nil {
		l.seen = make(map[refusal]struct{})
	}
	l.seen[r] = struct{}{}
	return true
}
