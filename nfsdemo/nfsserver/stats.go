package nfsserver

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/stats"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// Stats counts events since the server was made.
type Stats struct {
	Mounts uint64 // handles given out by MNT
	// calls of NFS and MOUNT that no rule of the export allows: by address, port or flavour
	Refused      uint64
	BadHandles   uint64 // calls that failed with nfs3.ErrBadHandle
	StaleHandles uint64 // with nfs3.ErrStale
	ReadOnly     uint64 // with nfs3.ErrROFS
	Denied       uint64 // with nfs3.ErrAcces or nfs3.ErrPerm from the file system
	NoExport     uint64 // calls of MNT for paths that are not exported
}

// ExportStats counts the calls for an export, without those that no rule allowed.
type ExportStats struct {
	Path                    string
	BytesRead, BytesWritten uint64             // by READ and WRITE
	Calls                   [nfs3.Procs]uint64 // by procedure
	// failed calls, by status
	Failed map[nfs3.Status]uint64
	// whether its root could not be read the last time
	Gone bool
	// hosts that have mounted it, as far as MOUNT knows
	Clients int
}

// exportCounters are the counters of one export.
type exportCounters struct {
	bytesRead, bytesWritten atomic.Uint64
	calls                   [nfs3.Procs]atomic.Uint64

	mu     sync.Mutex // guards what follows
	failed map[nfs3.Status]uint64
}

// called counts a call and its status.
func (c *exportCounters) called(p nfs3.Proc, s nfs3.Status) {
	c.calls[p].Add(1)
	if s == nfs3.OK {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = make(map[nfs3.Status]uint64)
	}
	c.failed[s]++
}

// ExportStats returns the counters of each export, in the order of Config.Exports.
func (s *Server) ExportStats() (all []ExportStats) {
	clients := make(map[*export]map[string]bool)
	for _, m := range s.mounts.all() {
		if e, _ := s.find(m.Path); e != nil {
			if clients[e] == nil {
				clients[e] = make(map[string]bool)
			}
			clients[e][m.Host] = true
		}
	}
	for _, e := range s.table.Load().list {
		c := &e.counters
		x := ExportStats{
			Path: e.Path, Gone: e.gone.Load(), Clients: len(clients[e]),
			BytesRead: c.bytesRead.Load(), BytesWritten: c.bytesWritten.Load(),
		}
		for p := range c.calls {
			x.Calls[p] = c.calls[p].Load()
		}
		c.mu.Lock()
		x.Failed = maps.Clone(c.failed)
		c.mu.Unlock()
		all = append(all, x)
	}
	return all
}

// count counts a failed call.
func (c *Stats) count(s nfs3.Status) {
	switch s {
	case nfs3.ErrBadHandle:
		atomic.AddUint64(&c.BadHandles, 1)
	case nfs3.ErrStale:
		atomic.AddUint64(&c.StaleHandles, 1)
	case nfs3.ErrROFS:
		atomic.AddUint64(&c.ReadOnly, 1)
	}
}

// Stats returns the server's counters.
func (s *Server) Stats() Stats { return stats.Load(&s.stats) }
