package nfsserver

import (
	"cmp"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// DefaultTransfer is the largest READ and WRITE in bytes where Config names none.
const DefaultTransfer = 1 << 20

// maxTransfer is the largest that Config may name. Callers give a call that much memory.
const maxTransfer = 64 << 20

// Export is a file system under the path by which clients mount it.
type Export struct {
	Path string // absolute and clean, such as "/" or "/srv/data"
	FS   vfs.FS // not that of another export
	// ReadOnly refuses what would change anything, with nfs3.ErrROFS.
	ReadOnly bool
	// Clients are the addresses from which the export may be mounted and used; none
	// means all.
	Clients []netip.Prefix
	// Squash says which callers are taken for Anon.
	Squash Squash
	// Anon is who squashed callers are, and those without AUTH_SYS credentials; nil means user and group
	// Nobody.
	Anon *vfs.Cred
}

// Squash is a set of callers whose credentials do not count.
type Squash int

// The sets.
const (
	SquashRoot Squash = iota // user 0, and group 0 of others
	SquashNone
	SquashAll
)

// Config configures a Server.
type Config struct {
	Exports []Export
	// MaxRead and MaxWrite are the largest READ and WRITE in bytes, which FSINFO tells
	// the clients; 0 means DefaultTransfer. READDIRPLUS keeps to MaxRead too.
	// Over TCP a transfer must fit the MaxRecord of package recordmark, at either end: more than 4 MiB
	// do not with its default.
	MaxRead, MaxWrite int
}

// Server serves NFS and MOUNT.
type Server struct {
	exports  []Export
	byID     map[uint64]vfs.FS
	maxRead  uint32
	maxWrite uint32
	verf     nfs3.Verifier // of this start: data written to another may be lost
}

// New returns a server of the exports.
func New(cfg Config) (*Server, error) {
	s := &Server{
		exports:  cfg.Exports,
		byID:     make(map[uint64]vfs.FS),
		maxRead:  uint32(cmp.Or(cfg.MaxRead, DefaultTransfer)),
		maxWrite: uint32(cmp.Or(cfg.MaxWrite, DefaultTransfer)),
	}
	for _, n := range []int{cfg.MaxRead, cfg.MaxWrite} {
		if n < 0 || n > maxTransfer {
			return nil, fmt.Errorf("nfsserver: transfers of %d bytes: at most %d are possible", n, maxTransfer)
		}
	}
	if len(cfg.Exports) == 0 {
		return nil, errors.New("nfsserver: nothing to export")
	}
	paths := make(map[string]bool)
	for _, e := range cfg.Exports {
		if !path.IsAbs(e.Path) || path.Clean(e.Path) != e.Path {
			return nil, fmt.Errorf("nfsserver: export %q: the path is not absolute and clean", e.Path)
		}
		if paths[e.Path] {
			return nil, fmt.Errorf("nfsserver: export %q: there are two of them", e.Path)
		}
		paths[e.Path] = true
		if other := s.byID[e.FS.ID()]; other != nil && other != e.FS {
			return nil, fmt.Errorf("nfsserver: export %q: another file system has the ID %#x", e.Path, e.FS.ID())
		}
		s.byID[e.FS.ID()] = e.FS
	}
	rand.Read(s.verf[:])
	return s, nil
}

// Programs returns the programs for oncrpc.Server.Handle.
func (s *Server) Programs() []oncrpc.Program { return []oncrpc.Program{s.nfs(), s.mount()} }

// nfs returns the NFS program. What it leaves out is answered with PROC_UNAVAIL.
func (s *Server) nfs() oncrpc.Program {
	procs := make([]oncrpc.Procedure, nfs3.Procs)
	for p, h := range map[nfs3.Proc]oncrpc.Handler{
		nfs3.ProcGetAttr:     handler(s.getAttr),
		nfs3.ProcSetAttr:     handler(s.setAttr),
		nfs3.ProcLookup:      handler(s.lookup),
		nfs3.ProcAccess:      handler(s.access),
		nfs3.ProcRead:        handler(s.read),
		nfs3.ProcWrite:       handler(s.write),
		nfs3.ProcCreate:      handler(s.create),
		nfs3.ProcMkdir:       handler(s.mkdir),
		nfs3.ProcReadDirPlus: handler(s.readDirPlus),
		nfs3.ProcFSStat:      handler(s.fsStat),
		nfs3.ProcFSInfo:      handler(s.fsInfo),
		nfs3.ProcPathConf:    handler(s.pathConf),
		nfs3.ProcCommit:      handler(s.commit),
	} {
		procs[p].Handler = h
		// A long directory takes its time even in memory.
		procs[p].NonBlocking = s.nonBlocking() && p != nfs3.ProcReadDirPlus
	}
	for p := range procs {
		procs[p].Name = nfs3.Proc(p).String()
	}
	return oncrpc.Program{Name: "NFS", Number: nfs3.Program, Version: nfs3.Version, Procedures: procs}
}

// nonBlocking reports whether no file system waits for anything.
func (s *Server) nonBlocking() bool {
	for _, fs := range s.byID {
		if !fs.Info().NonBlocking {
			return false
		}
	}
	return true
}

// fs returns the file system of a handle: one that no export has any more was
// exported before a restart.
func (s *Server) fs(h *nfs3.FH) (vfs.FS, error) {
	b := h.Bytes()
	if len(b) < 8 {
		return nil, nfs3.ErrBadHandle
	}
	fs := s.byID[binary.BigEndian.Uint64(b)]
	if fs == nil {
		return nil, nfs3.ErrStale
	}
	return fs, nil
}

// within returns how many of n bytes at off lie where an int64 reaches.
func within(off uint64, n uint32) uint32 {
	if off > math.MaxInt64 {
		return 0
	}
	return uint32(min(uint64(n), math.MaxInt64-off))
}
