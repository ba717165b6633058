package reach

import (
	"context"
	"errors"
	"log/slog"
	"net"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// RDMAConfig is how a command connects over RDMA, over any provider.
type RDMAConfig struct {
	Log       *slog.Logger
	recvDepth int              // 0: the default
	Counted   *metrics.Metrics // nil: nothing is counted
	CRC       iwarp.CRC        // of iWARP
	AnyPort   bool             // over TCP, do not call from a port below 1024
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

// Dialer returns a dialer for the provider of the target.
func (t Target) Dialer(w *trace.Writer, low RDMAConfig) (transport.Dialer, error) {
	switch t.Scheme {
	case SchemeRoCE:
		return roce.Dialer{Config: low.roce(w)}, nil
	case SchemeSCTP:
		return t.dialerOverSCTP(w, low.iwarp())
	}
	return dialerOverTCP(w, low), nil
}

// dialerOverTCP returns a dialer of iWARP over TCP.
func dialerOverTCP(w *trace.Writer, low RDMAConfig) iwarp.Dialer {
	dial := dialPrivileged
	if low.AnyPort {
		dial = dialer.DialContext
	}
	return iwarp.Dialer{Config: low.iwarp(), DialContext: w.DialContext(dial)}
}

var dialer = net.Dialer{FallbackDelay: -1} // as iwarp.Dialer has it

// dialPrivileged connects from a port below 1024 if the process may use one: exports without the
// option insecure require it.
func dialPrivileged(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := recordmark.DialPrivilegedTCP(ctx, dialer, addr)
	if errors.Is(err, recordmark.ErrNoPrivilegedPort) {
		return dialer.DialContext(ctx, network, addr)
	}
	return conn, err
}
