package gss

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/faultlog"
	"github.com/rpcrdma/go-rpcrdma/internal/stats"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// ServerConfig configures a ServerFlavor.
type ServerConfig struct {
	// Acceptor creates the contexts.
	Acceptor Acceptor
	// Logger logs faults and failures; nil means slog.Default().
	Logger *slog.Logger
	// MaxContexts is the number of contexts to keep for all hosts together, 1 or more; 0 means
	// 4096. A context takes about 3 KiB. A host that has some gets another only if it then has no
	// more than remain free. Otherwise the new context replaces that host's least recently used
	// one. If none are free for a host that has none, its context replaces one of the host or the
	// principal that has the most.
	MaxContexts int
	// IdleTimeout is how long an unused context is kept; 0 means an hour. Its client then creates
	// another.
	IdleTimeout time.Duration
	// Now is the clock for the expiry of contexts; nil means time.Now.
	Now func() time.Time
}

// ServerFlavor is RPCSEC_GSS at the server (oncrpc.ServerConfig.Flavors). It has the contexts of
// all clients, over all their connections. Several servers may share it and thus the contexts.
//
// A call whose identity is a *Caller has been authenticated. Use Program.Authorize to decide which
// principals and services may do what.
//
// RFC 2203 requires a server to drop some calls silently: those replayed or below the window
// (section 5.3.3.1), and those whose results cannot be protected (section 5.3.3.4). Their callers
// would wait for ever and, over RPC-over-RDMA, lose a credit for the life of the connection. So the
// ServerFlavor closes the connection of such a call. A client that reconnects can then repeat it.
type ServerFlavor struct {
	cfg        ServerConfig
	faults     *faultlog.Log
	arrivals   *faultlog.Log // new contexts; separate, so that they do not displace faults
	contexts   *table
	handshakes chan struct{} // has an element for each token being processed
	stats      ServerStats
}

const (
	// maxHandshakes is how many tokens are processed at the same time.
	maxHandshakes = 8
	// maxHalfMade is how many contexts may be under creation, for all hosts together.
	maxHalfMade = 512
	// halfMadeTimeout is how long the creation of a context may take.
	halfMadeTimeout = 30 * time.Second
)

// ServerStats counts what a ServerFlavor has done since it was made.
type ServerStats struct {
	Contexts  int    // contexts that exist now
	HalfMade  int    // contexts being created now
	Made      uint64 // contexts created
	Refused   uint64 // contexts refused by the mechanism, or because of too many at once
	Expired   uint64 // contexts that expired, were unused, or were not completed in time
	Evicted   uint64 // contexts replaced by others
	Destroyed uint64 // contexts destroyed by their clients
	Unknown   uint64 // calls with an unknown context (RPCSEC_GSS_CREDPROBLEM)
	BadMICs   uint64 // calls whose header has a wrong checksum (RPCSEC_GSS_CREDPROBLEM)
	// calls with an expired context or used up sequence numbers (RPCSEC_GSS_CTXPROBLEM)
	Stale         uint64
	BadCreds      uint64 // calls with a malformed credential or verifier
	GarbageBodies uint64 // calls whose arguments fail the check (GARBAGE_ARGS)
	Replays       uint64 // calls with a sequence number used before
	OutOfWindow   uint64 // calls with a sequence number below the window
	WrapFailures  uint64 // replies that could not be protected
	ConnsClosed   uint64 // connections closed because of the last three
}

// NewServerFlavor returns a flavour without contexts. It panics with an *oncrpc.ConfigError if cfg
// has no Acceptor or a negative number.
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
	made, half := f.contexts.count(f.cfg.Now()) // it ends expired contexts, which Load is to see
	now := stats.Load(&f.stats)
	now.Contexts, now.HalfMade = made, half
	return now
}

// Caller is the caller of a call with RPCSEC_GSS, as an oncrpc.Identity. Call.Identity returns a
// *Caller.
type Caller struct {
	Principal string  // such as "alice@EXAMPLE.ORG"
	Service   Service // the protection of this call
}

// AppendKey appends the service and the principal. A repeated call has the same service as the
// first. Including it keeps an attacker who alters another call of the same caller from getting
// encrypted results in the clear.
func (c *Caller) AppendKey(b []byte) []byte {
	return append(append(b, byte(c.Service)), c.Principal...)
}

// String returns the principal.
func (c *Caller) String() string { return c.Principal }
