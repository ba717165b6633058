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
	// Program is the program number to serve; 0 means Program. For clients of RFC 5666, serve
	// another one as ProgramRFC5666.
	Program uint32
	// MaxCall is the largest call to agree to receive inline, in bytes with header, from MinSize to
	// MaxSize; 0 means DefaultSize. A connection whose calls may be longer already keeps that. The
	// client decides about inline replies, up to MaxSize.
	MaxCall int
	// Flavors are the allowed flavours of credentials; nil means any. Other calls are denied with
	// AUTH_TOOWEAK. AUTH_NONE and AUTH_SYS prove nothing.
	Flavors []oncrpc.AuthFlavor
	// Service, unless 0, is the least service of RPCSEC_GSS that a call must have: gss.None admits
	// callers that prove who they are, gss.Integrity only calls that nobody can have changed on the
	// way. Other calls are denied with AUTH_TOOWEAK. The server needs a flavour of package gss in
	// oncrpc.ServerConfig.Flavors, or nobody can configure anything.
	Service gss.Service
	// Clients are the networks whose hosts may call; empty means all. Other calls are denied with
	// AUTH_TOOWEAK.
	Clients []netip.Prefix
	// Logger logs what is agreed on, at level DEBUG; nil means slog.Default().
	Logger *slog.Logger
}

// New returns the program, for the Handle method of an oncrpc.Server. Each call configures the
// connection on which it came. Calls over a transport other than *rpcrdma.Conn get PROG_UNAVAIL.
// New panics with a *oncrpc.ConfigError if MaxCall is out of range.
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

// server has the configuration of one program.
type server struct {
	maxCall int
	flavors []oncrpc.AuthFlavor
	service gss.Service
	clients []netip.Prefix
	log     *slog.Logger
}

// configure is the handler of CONF_RDMA. It changes nothing before the whole request is decoded.
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
	// Until the client has the answer, it uses the old sizes. So calls of the old size must stay
	// possible, and longer receives must be posted before the answer.
	recv := min(conn.EnlargeReceives(min(sizeOf(req.MaxCallSendSize), s.maxCall)), s.maxCall)
	conn.UpdateSettings(func(is *rpcrdma.Settings) {
		is.MaxCallRecv = max(is.MaxCallRecv, recv)
		// exactly that: the client offers no chunks for replies that fit
		is.MaxReplySend = sizeOf(req.MaxReplySendSize)
		is.Reads = readsOf(req.MaxRDMARead)
	})
	is := conn.Settings()
	s.log.LogAttrs(ctx, slog.LevelDebug, "confproto: CONF_RDMA", slog.Any("peer", conn.RemoteAddr()),
		slog.Int("max_call", is.MaxCallRecv), slog.Int("max_reply", is.MaxReplySend),
		slog.Int("reads", is.Reads), slog.Int("peer_reads", is.PeerReads), slog.Int("align", is.Align))
	reply := Reply{MaxCallSendSize: uint32(is.MaxCallRecv), Align: uint32(is.Align), MaxRDMARead: uint32(is.PeerReads)}
	reply.MarshalXDR(c.Results)
	return nil
}
