package reach

import (
	"log/slog"
	"net"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// RDMAConfig is how a command connects over RDMA, whichever the provider.
type RDMAConfig struct {
	Log       *slog.Logger
	recvDepth int              // 0: the default
	Counted   *metrics.Metrics // nil: nothing is counted
	CRC       iwarp.CRC        // of iWARP
}

func (c RDMAConfig) iwarp() iwarp.Config {
	cfg := iwarp.Config{Logger: c.Log, CRC: c.CRC, RecvDepth: c.recvDepth}
	if c.Counted != nil {
		cfg.Counters = c.Counted.IWARP()
	}
	return cfg
}

func (c RDMAConfig) roce(w *trace.Writer) roce.Config {
	cfg := roce.Config{Logger: c.Log, RecvDepth: c.recvDepth, Trace: Datagrams(w)}
	if c.Counted != nil {
		cfg.Counters = c.Counted.ROCE()
	}
	return cfg
}

// Dialer returns what connects to the target.
func (t Target) Dialer(w *trace.Writer, low RDMAConfig) (transport.Dialer, error) {
	switch t.Scheme {
	case SchemeRoCE:
		return roce.Dialer{Config: low.roce(w)}, nil
	case SchemeSCTP:
		return t.dialerOverSCTP(w, low.iwarp())
	}
	return dialerOverTCP(w, low.iwarp()), nil
}

// dialerOverTCP returns what connects by iWARP over TCP.
func dialerOverTCP(w *trace.Writer, low iwarp.Config) iwarp.Dialer {
	d := iwarp.Dialer{Config: low}
	if w != nil {
		below := net.Dialer{FallbackDelay: -1} // as Dialer has it
		d.DialContext = w.DialContext(below.DialContext)
	}
	return d
}
