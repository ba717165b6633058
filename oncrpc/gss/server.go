package gss

import (
	"cmp"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// ServerConfig configures a ServerFlavor.
type ServerConfig struct {
	// Acceptor makes the contexts.
	Acceptor Acceptor
	// Logger takes what goes wrong; nil means slog.Default().
	Logger *slog.Logger
	// MaxContexts is the number of contexts that are kept, of all hosts together, 1 or more; 0
	// means 4096. Of these, a host that has some gets another only while it then has no more than
	// are left. Otherwise the new one takes the place of that of its own which was not used for
	// longest. A host that has none takes, if there is no place, that of the host or the principal
	// which has most. A context takes 3 KiB or so.
	MaxContexts int
	// IdleTimeout is how long a context is kept that is not used; 0 means an hour. Its client makes
	// another one then.
	IdleTimeout time.Duration
	// Now is the clock by which contexts expire; nil means time.Now.
	Now func() time.Time
}

// ServerFlavor is RPCSEC_GSS at the server (oncrpc.ServerConfig.Flavors). It has the contexts of
// all clients, over whichever connection they come. Several servers may share it: then a context
// that was made with one is good for the others.
//
// A call whose identity is a *Caller has passed. Which principals and which services may do what is
// for Program.Authorize to say.
//
// RFC 2203 discards some calls silently: those that are replayed or below the window (section
// 5.3.3.1), and those whose results cannot be protected (section 5.3.3.4). Over RPC-over-RDMA that
// would cost their clients a credit for as long as the connection lasts, and over TCP they would
// wait. So the connection of such a call is closed, and a client that connects anew calls again.
type ServerFlavor struct {
	cfg        ServerConfig
	faults     *faultlog.Log
	arrivals   *faultlog.Log // of principals, which must not take the room of faults
	contexts   *table
	handshakes chan struct{} // has an element for each token that is looked at
	stats      serverStats
}

const (
	// maxHandshakes is the number of tokens that are looked at at the same time.
	maxHandshakes = 8
	// maxHalfMade is the number of contexts that are being made, of all hosts together.
	maxHalfMade = 512
	// halfMadeTimeout is how long a context may take to be made.
	halfMadeTimeout = 30 * time.Second
)

// ServerStats counts what a ServerFlavor has done since it was made.
type ServerStats struct {
	Contexts  int    // that there are now
	HalfMade  int    // contexts that are being made now
	Made      uint64 // contexts
	Refused   uint64 // contexts, by the mechanism, or because too many were being made
	Expired   uint64 // contexts whose time was over, that were not used, or not made in time
	Evicted   uint64 // contexts that left their place to another
	Destroyed uint64 // contexts, by their clients
	Unknown   uint64 // calls with a context that there is not (RPCSEC_GSS_CREDPROBLEM)
	BadMICs   uint64 // calls with a header whose checksum is wrong (RPCSEC_GSS_CREDPROBLEM)
	// calls with an expired context, or numbers used up (RPCSEC_GSS_CTXPROBLEM)
	Stale         uint64
	BadCreds      uint64 // calls with a credential or verifier that makes no sense
	GarbageBodies uint64 // calls whose arguments are not what the client has sent (GARBAGE_ARGS)
	Replays       uint64 // calls with a sequence number that was seen before
	OutOfWindow   uint64 // calls with a sequence number below the window
	WrapFailures  uint64 // replies that could not be protected
	ConnsClosed   uint64 // for the last three
}

type serverStats struct {
	made, refused, expired, evicted, destroyed, unknown, badMICs, stale, badCreds, garbageBodies,
	replays, outOfWindow, wrapFailures, connsClosed atomic.Uint64
}

// NewServerFlavor returns a flavour without contexts. It panics with an *oncrpc.ConfigError if cfg
// has no Acceptor, or a negative number.
func NewServerFlavor(cfg ServerConfig) *ServerFlavor {
	const config = "gss.ServerConfig"
	switch {
	case cfg.Acceptor == nil:
		panic(&oncrpc.ConfigError{Config: config, Field: "Acceptor", Want: "a mechanism"})
	case cfg.MaxContexts < 0:
		panic(&oncrpc.ConfigError{Config: config, Field: "MaxContexts", Value: cfg.MaxContexts,
			Want: "1 or more, or 0 for the default"})
	case cfg.IdleTimeout < 0:
		panic(&oncrpc.ConfigError{Config: config, Field: "IdleTimeout", Value: cfg.IdleTimeout,
			Want: "more than 0, or 0 for the default"})
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	f := &ServerFlavor{
		cfg:        cfg,
		faults:     faultlog.New(cfg.Logger),
		arrivals:   faultlog.New(cfg.Logger),
		handshakes: make(chan struct{}, maxHandshakes),
	}
	idle := cmp.Or(cfg.IdleTimeout, time.Hour)
	f.contexts = newTable(cmp.Or(cfg.MaxContexts, 4096), idle, &f.stats)
	return f
}

// Flavor returns oncrpc.FlavorGSS.
func (f *ServerFlavor) Flavor() oncrpc.AuthFlavor { return oncrpc.FlavorGSS }

// Stats returns the flavour's counters.
func (f *ServerFlavor) Stats() ServerStats {
	made, half := f.contexts.count(f.cfg.Now())
	s := &f.stats
	return ServerStats{
		Contexts:      made,
		HalfMade:      half,
		Made:          s.made.Load(),
		Refused:       s.refused.Load(),
		Expired:       s.expired.Load(),
		Evicted:       s.evicted.Load(),
		Destroyed:     s.destroyed.Load(),
		Unknown:       s.unknown.Load(),
		BadMICs:       s.badMICs.Load(),
		Stale:         s.stale.Load(),
		BadCreds:      s.badCreds.Load(),
		GarbageBodies: s.garbageBodies.Load(),
		Replays:       s.replays.Load(),
		OutOfWindow:   s.outOfWindow.Load(),
		WrapFailures:  s.wrapFailures.Load(),
		ConnsClosed:   s.connsClosed.Load(),
	}
}

// Caller is who has called with RPCSEC_GSS: an oncrpc.Identity. Call.Identity returns a *Caller.
type Caller struct {
	Principal string  // such as "alice@EXAMPLE.ORG"
	Service   Service // what this call was protected by
}

// AppendKey appends the service and the principal. A call that comes again has the service that it
// had. So what was encrypted for a caller is not repeated in the clear, for one who has changed the
// arguments of another call of his.
func (c *Caller) AppendKey(b []byte) []byte {
	return append(append(b, byte(c.Service)), c.Principal...)
}

// String returns the principal.
func (c *Caller) String() string { return c.Principal }
