package nfsserver

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Stats counts what a Server has done since it began.
type Stats struct {
	Mounts       uint64 // handles given out by MNT
	Refused      uint64 // calls of NFS and MOUNT from addresses that the export does not admit
	BadHandles   uint64 // calls answered with nfs3.ErrBadHandle
	StaleHandles uint64 // with nfs3.ErrStale
	ReadOnly     uint64 // with nfs3.ErrROFS
}

type counters struct{ mounts, refused, badHandles, staleHandles, readOnly atomic.Uint64 }

// count counts an answer.
func (c *counters) count(s nfs3.Status) {
	switch s {
	case nfs3.ErrBadHandle:
		c.badHandles.Add(1)
	case nfs3.ErrStale:
		c.staleHandles.Add(1)
	case nfs3.ErrROFS:
		c.readOnly.Add(1)
	}
}

// Stats returns the server's counters.
func (s *Server) Stats() Stats {
	c := &s.stats
	return Stats{
		c.mounts.Load(), c.refused.Load(),
		c.badHandles.Load(), c.staleHandles.Load(), c.readOnly.Load(),
	}
}
