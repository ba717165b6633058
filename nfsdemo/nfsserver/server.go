package nfsserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
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
	// Blocking has calls be executed on workers though none of Exports may block, or there are none
	// yet: SetExports may add file systems that do.
	Blocking bool
	// Groups returns the supplementary groups of a user who is not squashed, in place of those that
	// he says he has; nil takes him at his word, which is 16 groups at most (RFC 5531 appendix A).
	// It may block, and takes Blocking then. What it returns is not changed. It is asked of callers
	// with AUTH_SYS; the groups of a principal are those that User returns.
	Groups func(uid uint32) []uint32
	// GSS says that the RPC server takes RPCSEC_GSS, by a flavour of package gss among
	// oncrpc.ServerConfig.Flavors. Without it exports whose rules name flavours of RPCSEC_GSS are
	// an error, ErrNoGSS, of New and of SetExports: nobody could use them.
	GSS bool
	// User returns the user that a principal of RPCSEC_GSS is, such as "alice@EXAMPLE.ORG". Nil is
	// none: the caller is squashed to Rule.Anon, as all are where User is nil. Of user 0 the rules
	// count as with AUTH_SYS. An error has the client try again later (nfs3.ErrJukebox): it is not
	// known just now. User may block within ctx, which ends with the connection; calls with
	// RPCSEC_GSS run on workers in any case, so it bounds its waits. What it returns is not
	// changed. Principals are what a mechanism has found them to be, and may hold any bytes.
	// Package users has functions for it.
	User func(ctx context.Context, principal string) (*vfs.Cred, error)
	// Logger takes what an operator wants to know; nil means slog.Default(). At level INFO it is
	// who mounts and unmounts what; at WARN who was refused, and why; at ERROR file systems that
	// fail, and exports that have gone away. What comes again and again is there once a minute for
	// each host and export, and otherwise at DEBUG.
	Logger *slog.Logger
}

// Server serves NFS and MOUNT.
type Server struct {
	table    atomic.Pointer[table]
	changing sync.Mutex // held by SetExports
	blocking bool
	groups   func(uid uint32) []uint32 // may be nil
	gss      bool
	user     func(ctx context.Context, principal string) (*vfs.Cred, error) // may be nil
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
	if len(cfg.Exports) == 0 && !cfg.Blocking {
		return nil, errors.New("nfsserver: nothing to export")
	}
	t, none := &table{byID: make(map[uint64]*export)}, new(table)
	s.blocking, s.groups, s.gss, s.user = cfg.Blocking, cfg.Groups, cfg.GSS, cfg.User
	for _, x := range cfg.Exports {
		if err := t.add(x, none); err != nil {
			return nil, fmt.Errorf("nfsserver: export %q: %w", x.Path, err)
		}
		if err := s.checkFlavors(&x); err != nil {
			return nil, err
		}
		s.blocking = s.blocking || !x.FS.Info().NonBlocking
	}
	t.cross()
	s.table.Store(t)
	rand.Read(s.verf[:])
	return s, nil
}

// Programs returns the programs for oncrpc.Server.Handle.
func (s *Server) Programs() []oncrpc.Program { return []oncrpc.Program{s.nfs(), s.mount()} }
