package nfsserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// DefaultTransfer is the default of Config.MaxRead and Config.MaxWrite, in bytes.
const DefaultTransfer = 1 << 20

// Limits of Config.MaxRead and Config.MaxWrite. The smallest has room for a directory entry with
// the longest name. Clients reserve memory for the largest.
const (
	minTransfer = 1 << 10
	maxTransfer = 64 << 20
)

// Config configures a Server.
type Config struct {
	Exports []Export
	// MaxRead and MaxWrite are the largest READ and WRITE in bytes, from 1 KiB to 64 MiB; 0 means
	// DefaultTransfer. FSINFO tells them to clients. READDIR and READDIRPLUS return at most
	// MaxRead, and at most 128 KiB. Over TCP a transfer must fit recordmark.Config.MaxRecord at
	// both ends; its default has room for up to 4 MiB.
	MaxRead, MaxWrite int
	// Blocking runs all calls on workers. It is implied if a file system in Exports may block. Set
	// it if SetExports may add such file systems later; Exports may be empty then.
	Blocking bool
	// Groups returns the supplementary groups of a user who calls from a peer, in place of those in
	// the call. It is used for callers with AUTH_SYS who are not squashed. Nil means that the
	// groups in the call count; AUTH_SYS has at most 16 (RFC 5531 appendix A). Groups may block;
	// set Blocking then. The server does not change the result. On an error the client is told to
	// try again later (nfs3.ErrJukebox); for MOUNT, which cannot say that, the server tries again
	// itself for up to 5 seconds. For RPCSEC_GSS, User returns the groups.
	Groups func(peer net.Addr, uid uint32) ([]uint32, error)
	// GSS says that the RPC server takes RPCSEC_GSS: oncrpc.ServerConfig.Flavors has a flavour of
	// package gss. Without it, New and SetExports fail with ErrNoGSS for exports whose rules name
	// flavours of RPCSEC_GSS, since nobody could use those.
	GSS bool
	// User returns the user of an RPCSEC_GSS principal, such as "alice@EXAMPLE.ORG", that calls
	// from a peer. If it returns nil, or User is nil, the caller is squashed to Rule.Anon. Rules
	// treat user 0 as with AUTH_SYS. Errors are as for Groups.
	//
	// User may block, whatever Blocking is, until ctx ends. That is when the connection ends, so
	// User must bound its waits itself. The server does not change the result. A principal comes
	// from the security mechanism and may contain any bytes. Package users has a User function.
	User func(ctx context.Context, peer net.Addr, principal string) (*vfs.Cred, error)
	// Logger logs what an administrator wants to know; nil means slog.Default(). INFO: who mounts
	// and unmounts what. WARN: who was refused, and why. ERROR: file systems that fail, exports
	// that have gone away. Repeated messages are logged once a minute for each host and export, and
	// otherwise at DEBUG.
	Logger *slog.Logger
}

// Server serves NFS and MOUNT. Make it with New.
type Server struct {
	table    atomic.Pointer[table]
	changing sync.Mutex // held by SetExports
	blocking bool
	// may be nil
	groups   func(peer net.Addr, uid uint32) ([]uint32, error)
	gss      bool
	user     func(ctx context.Context, peer net.Addr, principal string) (*vfs.Cred, error)
	maxRead  uint32
	maxWrite uint32
	verf     nfs3.Verifier // random, made at the start: data written before a restart may be lost
	out      *slog.Logger
	log      *faultlog.Log // for messages that may come again and again
	mounts   mounts
	stats    Stats
}

// New returns a server for the exports in cfg. It fails if an export is invalid, or cannot be
// combined with the others.
func New(cfg Config) (*Server, error) {
	s := &Server{
		maxRead:  uint32(cmp.Or(cfg.MaxRead, DefaultTransfer)),
		maxWrite: uint32(cmp.Or(cfg.MaxWrite, DefaultTransfer)),
		out:      cmp.Or(cfg.Logger, slog.Default()),
	}
	s.log = faultlog.New(s.out)
	for _, n := range []int{cfg.MaxRead, cfg.MaxWrite} {
		if n != 0 && (n < minTransfer || n > maxTransfer) {
			return nil, fmt.Errorf("nfsserver: transfers of %d bytes: must be from %d to %d",
				n, minTransfer, maxTransfer)
		}
	}
	if len(cfg.Exports) == 0 && !cfg.Blocking {
		return nil, errors.New("nfsserver: no exports")
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

// Programs returns the NFS and MOUNT programs, for oncrpc.Server.Handle.
func (s *Server) Programs() []oncrpc.Program { return []oncrpc.Program{s.nfs(), s.mount()} }
