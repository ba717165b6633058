package main

import (
	"log/slog"
	"net"

	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/trace"
)

// rdmaConfig is how a command connects over RDMA, whichever the provider.
type rdmaConfig struct {
	log       *slog.Logger
	recvDepth int              // 0: the default
	counted   *metrics.Metrics // nil: nothing is counted
	crc       iwarp.CRC        // of iWARP
}

func (c rdmaConfig) iwarp() iwarp.Config {
	cfg := iwarp.Config{Logger: c.log, CRC: c.crc, RecvDepth: c.recvDepth}
	if c.counted != nil {
		cfg.Counters = c.counted.IWARP()
	}
	return cfg
}

func (c rdmaConfig) roce(w *trace.Writer) roce.Config {
	cfg := roce.Config{Logger: c.log, RecvDepth: c.recvDepth, Trace: datagrams(w)}
	if c.counted != nil {
		cfg.Counters = c.counted.ROCE()
	}
	return cfg
}

// dialer returns what connects to the target.
func (t target) dialer(w *trace.Writer, low rdmaConfig) (transport.Dialer, error) {
	switch t.scheme {
	case schemeRoCE:
		return roce.Dialer{Config: low.roce(w)}, nil
	case schemeSCTP:
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
