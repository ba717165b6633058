package iwarp_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/sctprig"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestConformanceSCTP runs the suite over SCTP, with streams of one association.
func TestConformanceSCTP(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  iwarp.Config
		low  sctp.Config
	}{
		{"sessions", iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{}},
		{"enhanced", iwarp.Config{Enhanced: mpa.EnhancedRequired}, sctp.Config{}},
		{"peer-to-peer", iwarp.Config{PeerToPeer: true}, sctp.Config{}},
		{"draft", iwarp.Config{Enhanced: mpa.EnhancedNever}, sctp.Config{Draft: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			transporttest.Run(t, transporttest.Factory{
				New: func(t testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer,
					string) {
					cfg := tt.cfg
					cfg.IRD, cfg.ORD, cfg.SendDepth, cfg.RecvDepth = o.IRD, o.ORD, o.SendDepth, o.RecvDepth
					if cfg.Enhanced == mpa.EnhancedNever {
						// Without negotiation the two have to be told.
						cfg.ORD = min(reads(o.ORD), reads(o.IRD))
						if cfg.ORD == 0 {
							cfg.ORD = -1
						}
					}
					cfg.Logger = quiet
					low := tt.low
					low.Logger = quiet
					l, d := sctprig.Listen(t, cfg, low)
					return l, d, l.Addr().String()
				},
				UnusedAddr:    "127.0.0.1:1",
				SilentSetup:   tt.low.Draft,
				ReportsCauses: true,
			})
		})
	}
}

// TestDraftOnce: where nothing is negotiated, a Dialer that would have an enhanced setup if the peer
// has one makes one attempt.
func TestDraftOnce(t *testing.T) {
	low := sctp.Config{Draft: true, Counters: new(sctp.Counters), Logger: quiet}
	l, d := sctprig.Listen(t, iwarp.Config{Logger: quiet}, low)
	defer l.Close()
	ep, err := d.Dial(t.Context(), l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ep.Close()
	if n := low.Counters.Sessions.Load(); n != 1 {
		t.Errorf("%d sessions were begun, want 1", n)
	}
}
