package confproto

import (
	"cmp"
	"context"
	"log/slog"
	"net/netip"
	"slices"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// Config configures the program. The zero value is usable.
type Config struct {
	// Program is the number that it is served under; 0 means Program. For clients of RFC 5666,
	// serve it as ProgramRFC5666, too.
	Program uint32
	// MaxCall is the largest call in bytes, header included, to agree to receive inline, from
	// MinSize to MaxSize; 0 means DefaultSize. What is in force on a connection already is not
	// taken back, so it matters where it is larger than that. How long inline replies may be is for
	// the client to say, up to MaxSize.
	MaxCall int
	// Flavors are the flavours of credentials of which a call must have one; others are denied with
	// AUTH_TOOWEAK. Nil means any. AUTH_NONE and AUTH_SYS prove nothing.
	Flavors []oncrpc.AuthFlavor
	// Service, unless 0, is the least service of RPCSEC_GSS that a call must come with: gss.None
	// admits all callers who prove who they are, and gss.Integrity those alone whose sizes nobody
	// can have changed on the way. Others are denied with AUTH_TOOWEAK. The server needs a flavour
	// of package gss among oncrpc.ServerConfig.Flavors, or nobody can configure anything.
	Service gss.Service
	// Clients are the networks of those who may call; others are denied with AUTH_TOOWEAK, too.
	// Empty means everybody.
	Clients []netip.Prefix
	// Logger takes what is agreed on, at level debug; nil means slog.Default().
	Logger *slog.Logger
}

// New returns the program, for the Handle method of an oncrpc.Server. It configures the connection
// on which it is called. On a transport that is no *rpcrdma.Conn it is unavailable, as if it were
// not there. New panics, with a *oncrpc.ConfigError, if MaxCall is out of range.
func New(cfg Config) oncrpc.Program {
	maxCall, err := configured("Config", "MaxCall", cfg.MaxCall)
	if err != nil {
		panic(err)
	}
	s := &server{
		maxCall: maxCall, flavors: slices.Clone(cfg.Flavors), service: cfg.Service,
		clients: slices.Clone(cfg.Clients), log: cfg.Logger,
	}
	if s.log == nil {
		s.log = slog.Default()
	}
	return oncrpc.Program{
		Name:    "rdmaconfig",
		Number:  cmp.Or(cfg.Program, Program),
		Version: Version,
		Procedures: []oncrpc.Procedure{
			0:             {Name: "NULL", Handler: null, NonBlocking: true},
			ProcConfigure: {Name: "CONF_RDMA", Handler: s.configure, NonBlocking: true},
		},
	}
}

// server is the program.
type server struct {
	maxCall int
	flavors []oncrpc.AuthFlavor
	service gss.Service
	clients []netip.Prefix
	log     *slog.Logger
}

// configure is CONF_RDMA. Nothing changes before the whole request is known to be well-formed.
func (s *server) configure(ctx context.Context, c *oncrpc.Call) error {
	conn, err := connOf(c)
	if err != nil {
		return err
	}
	if err := s.authorize(c, conn); err != nil {
		return err
	}
	var req Request
	req.UnmarshalXDR(c.Args)
	if err := c.Args.Finish(); err != nil {
		return err
	}
	// The client goes by what is in force until it has the answer. So calls as long as until now
	// stay possible, and receives for longer ones are there before it can know of them.
	recv := min(conn.EnlargeReceives(min(sizeOf(req.MaxCallSendSize), s.maxCall)), s.maxCall)
	conn.UpdateSettings(func(is *rpcrdma.Settings) {
		is.MaxCallRecv = max(is.MaxCallRecv, recv)
		// all of it: the client offers no chunks for what fits
		is.MaxReplySend = sizeOf(req.MaxReplySendSize)
		is.Reads = readsOf(req.MaxRDMARead)
	})
	is := conn.Settings()
	s.log.LogAttrs(ctx, slog.LevelDebug, "confproto: CONF_RDMA", slog.Any("peer", conn.RemoteAddr()), slog.Int("max_call", is.MaxCallRecv),
		slog.Int("max_reply", is.MaxReplySend), slog.Int("reads", is.Reads), slog.Int("peer_reads", is.PeerReads), slog.Int("align", is.Align))
	reply := Reply{MaxCallSendSize: uint32(is.MaxCallRecv), Align: uint32(is.Align), MaxRDMARead: uint32(is.PeerReads)}
	reply.MarshalXDR(c.Results)
	return nil
}
