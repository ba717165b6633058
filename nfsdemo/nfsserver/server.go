package nfsserver

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// DefaultTransfer is the largest READ and WRITE in bytes where Config names none.
const DefaultTransfer = 1 << 20

// minTransfer and maxTransfer are the limits of what Config may name. The smallest has room for a
// directory's entry with the longest name, callers give a call memory for the largest.
const (
	minTransfer = 1 << 10
	maxTransfer = 64 << 20
)

// Config configures a Server.
type Config struct {
	Exports []Export
	// MaxRead and MaxWrite are the largest READ and WRITE in bytes, which FSINFO tells the clients;
	// 0 means DefaultTransfer. READDIR and READDIRPLUS keep to MaxRead and to 128 KiB. Less than
	// 1024 would not hold an entry of a directory. Over TCP a transfer must fit the MaxRecord of
	// package recordmark, at either end: more than 4 MiB do not with its default.
	MaxRead, MaxWrite int
	// Logger takes what an operator wants to know; nil means slog.Default(). At level INFO it is
	// who mounts and unmounts what; at WARN who was refused, and why; at ERROR file systems that
	// fail, and exports that have gone away. What comes again and again is there once a minute for
	// each host and export, and otherwise at DEBUG.
	Logger *slog.Logger
}

// Server serves NFS and MOUNT.
type Server struct {
	exports  []*export
	byID     map[uint64]*export // by the ID of the file system
	maxRead  uint32
	maxWrite uint32
	verf     nfs3.Verifier // of this start: data written to another may be lost
	out      *slog.Logger
	log      *faultlog.Log // what may come again and again
	mounts   mounts
	stats    counters
}

// New returns a server of the exports.
func New(cfg Config) (*Server, error) {
	s := &Server{
		byID:     make(map[uint64]*export),
		maxRead:  uint32(cmp.Or(cfg.MaxRead, DefaultTransfer)),
		maxWrite: uint32(cmp.Or(cfg.MaxWrite, DefaultTransfer)),
		out:      cmp.Or(cfg.Logger, slog.Default()),
	}
	s.log = faultlog.New(s.out)
	for _, n := range []int{cfg.MaxRead, cfg.MaxWrite} {
		if n != 0 && (n < minTransfer || n > maxTransfer) {
			return nil, fmt.Errorf("nfsserver: transfers of %d bytes: possible are %d to %d",
				n, minTransfer, maxTransfer)
		}
	}
	if len(cfg.Exports) == 0 {
		return nil, errors.New("nfsserver: nothing to export")
	}
	for _, x := range cfg.Exports {
		if err := s.add(x); err != nil {
			return nil, fmt.Errorf("nfsserver: export %q: %w", x.Path, err)
		}
	}
	rand.Read(s.verf[:])
	return s, nil
}

func (s *Server) add(x Export) error {
	if err := x.check(); err != nil {
		return err
	}
	for _, e := range s.exports {
		if e.Path == x.Path {
			return errors.New("there are two of them")
		}
	}
	id := x.FS.ID()
	if other := s.byID[id]; other != nil {
		return fmt.Errorf("its file system, of ID %#x, is exported as %q already", id, other.Path)
	}
	e := newExport(x)
	s.exports = append(s.exports, e)
	s.byID[id] = e
	return nil
}

// Programs returns the programs for oncrpc.Server.Handle.
func (s *Server) Programs() []oncrpc.Program { return []oncrpc.Program{s.nfs(), s.mount()} }

// nonBlocking reports whether no file system waits for anything.
func (s *Server) nonBlocking() bool {
	for _, e := range s.exports {
		if !e.FS.Info().NonBlocking {
			return false
		}
	}
	return true
}
