package iwarp_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/sctprig"
	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestConformanceSCTP runs the suite over SCTP, with streams of one association. Under the race
// detector it does so by RFC 5043 and, in a soak, by the draft, in one model each.
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
		if raceDetector && (tt.cfg.Enhanced != mpa.EnhancedNever || !soak.On && tt.low.Draft) {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			transporttest.Run(t, transporttest.Factory{
				New: func(t testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer,
					string) {
					cfg := tt.cfg
					cfg.IRD, cfg.ORD, cfg.SendDepth, cfg.RecvDepth = o.IRD, o.ORD, o.SendDepth, o.RecvDepth
					if cfg.Enhanced == mpa.EnhancedNever {
						// Without negotiation both sides must be configured.
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

// TestDraftOnce: without negotiation, a Dialer that prefers enhanced setup makes one attempt only.
func TestDraftOnce(t *testing.T) {
	low := sctp.Config{Draft: true, Counters: new(sctp.Counters), Logger: quiet}
	l, d := sctprig.Listen(t, iwarp.Config{Logger: quiet}, low)
	defer l.Close()
	ep, err := d.Dial(t.Context(), l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer ep.Close()
	if n := low.Counters.Stats().Sessions; n != 1 {
		t.Errorf("%d sessions were begun, want 1", n)
	}
}

// TestPrivateDataSCTP: private data has at most 512 bytes, four of them for enhanced data (RFC 5043
// section 5.2.3, RFC 6581 section 7). More is an error, and nothing is sent.
func TestPrivateDataSCTP(t *testing.T) {
	for _, tt := range []struct {
		name string
		cfg  iwarp.Config
		most int
	}{
		{"sessions", iwarp.Config{Enhanced: mpa.EnhancedNever}, 512},
		{"enhanced", iwarp.Config{Enhanced: mpa.EnhancedRequired}, 508},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.cfg.Logger = quiet
			low := sctp.Config{Counters: new(sctp.Counters), Logger: quiet}
			l, d := sctprig.Listen(t, tt.cfg, low)
			defer l.Close()
			long := bytes.Repeat([]byte("p"), tt.most+1)
			_, err := d.Dial(t.Context(), l.Addr().String(), transport.Private(long))
			if !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Dial: got error %v, want %v", err, transport.ErrPrivateData)
			}
			type dialed struct {
				ep  transport.Endpoint
				err error
			}
			done := make(chan dialed, 1)
			go func() {
				ep, err := d.Dial(t.Context(), l.Addr().String(), transport.Private(long[:tt.most]))
				done <- dialed{ep, err}
			}()
			req, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got := req.Info().PrivateData; !bytes.Equal(got, long[:tt.most]) {
				t.Errorf("private data %q", got)
			}
			_, err = req.Accept(t.Context(), transport.Private(long))
			if !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Accept: got error %v, want %v", err, transport.ErrPrivateData)
			}
			if err := req.Reject(long); !errors.Is(err, transport.ErrPrivateData) {
				t.Errorf("Reject: got error %v, want %v", err, transport.ErrPrivateData)
			}
			accepted, err := req.Accept(t.Context(), transport.Private(long[:tt.most]))
			if err != nil {
				t.Fatal(err)
			}
			defer accepted.Close()
			asked := <-done
			if asked.err != nil {
				t.Fatal(asked.err)
			}
			defer asked.ep.Close()
			if got := asked.ep.Info().PrivateData; !bytes.Equal(got, long[:tt.most]) {
				t.Errorf("private data of the reply %q", got)
			}
		})
	}
}
