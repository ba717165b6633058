package faultnet_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/deadport"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

var quiet = slog.New(slog.DiscardHandler)

// iwarpConfig returns the configuration for a subtest of the suite.
func iwarpConfig(o transporttest.Options) iwarp.Config {
	return iwarp.Config{
		IRD: o.IRD, ORD: o.ORD, SendDepth: o.SendDepth, RecvDepth: o.RecvDepth,
		CRC: iwarp.CRCOn, PeerToPeer: true, Logger: quiet,
	}
}

// TestConformanceRelay runs the suite for iWARP over slow networks that lose nothing.
func TestConformanceRelay(t *testing.T) {
	for i, tt := range []struct {
		name     string
		up, down faultnet.Way
	}{
		{"bandwidth",
			faultnet.Way{Bandwidth: 400e6, Buffer: 256 << 10},
			faultnet.Way{Bandwidth: 200e6, Buffer: 128 << 10}},
		{"delay, jitter, small segments",
			faultnet.Way{
				Delay: 100 * time.Microsecond, Jitter: 100 * time.Microsecond,
				MaxSegment: 4000, Buffer: 256 << 10,
			},
			faultnet.Way{Jitter: 100 * time.Microsecond, MaxSegment: 1448, Buffer: 256 << 10}},
	} {
		if i > 0 && fewNetworks {
			break
		}
		t.Run(tt.name, func(t *testing.T) {
			transporttest.Run(t, transporttest.Factory{
				New: func(tb testing.TB, o transporttest.Options) (
					transport.Listener, transport.Dialer, string) {
					cfg := iwarpConfig(o)
					l, err := iwarp.Listen(tb.Context(), "127.0.0.1:0", cfg)
					if err != nil {
						tb.Fatal(err)
					}
					network := faultnet.Config{Seed: 1, Up: tt.up, Down: tt.down}
					r := newRelay(tb, l.Addr().String(), network)
					return l, iwarp.Dialer{Config: cfg}, r.Addr()
				},
				UnusedAddr:    deadport.New(t, "127.0.0.1").String(),
				Relayed:       true,
				ReportsCauses: true,
			})
		})
	}
}

// TestConformanceMemory runs the suite for iWARP over an in-memory network.
func TestConformanceMemory(t *testing.T) {
	transporttest.Run(t, transporttest.Factory{
		New: func(tb testing.TB, o transporttest.Options) (
			transport.Listener, transport.Dialer, string) {
			m := faultnet.NewMemory(faultnet.Config{Down: faultnet.Way{MaxSegment: 9000}})
			below, err := m.Listen("10.0.0.1:0")
			if err != nil {
				tb.Fatal(err)
			}
			cfg := iwarpConfig(o)
			l, err := iwarp.NewListener(below, cfg)
			if err != nil {
				tb.Fatal(err)
			}
			d := iwarp.Dialer{Config: cfg, DialContext: m.Dialer("10.0.0.2")}
			return l, d, l.Addr().String()
		},
		Bubble:        true,
		ReportsCauses: true,
	})
}

// TestConformanceProvider runs the suite with delayed requests and completions.
func TestConformanceProvider(t *testing.T) {
	work := faultnet.Work{Delay: 100 * time.Microsecond, Hold: 100 * time.Microsecond}
	transporttest.Run(t, transporttest.Factory{
		New: func(tb testing.TB, o transporttest.Options) (
			transport.Listener, transport.Dialer, string) {
			fabric, cfg := loopback.New(), loopback.Config(o)
			l, err := fabric.Listen("server", cfg)
			if err != nil {
				tb.Fatal(err)
			}
			p := faultnet.NewProvider(faultnet.ProviderConfig{Seed: 1, Work: work})
			return p.Listener(l), p.Dialer(fabric.Dialer(cfg)), "server"
		},
		Bubble:        true,
		UnusedAddr:    "nobody",
		ReportsCauses: true,
	})
}
