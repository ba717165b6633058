package iwarp

import (
	"io"
	"log/slog"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// quiet is a logger for tests whose peers break the protocol on purpose.
var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// TestConformance runs the suite over every kind of connection: CRC off and on, and the ways to set one up.
func TestConformance(t *testing.T) {
	for _, setup := range []struct {
		name string
		cfg  Config
	}{
		{"revision 1", Config{Enhanced: mpa.EnhancedNever}},
		{"enhanced", Config{Enhanced: mpa.EnhancedRequired}},
		{"enhanced, small segments", Config{MaxSegment: 1442}},
		{"peer-to-peer, RTR by Send", Config{PeerToPeer: true, RTR: mpa.RTRSend}},
		{"peer-to-peer, RTR by Write", Config{PeerToPeer: true, RTR: mpa.RTRWrite}},
		{"peer-to-peer, RTR by Read", Config{PeerToPeer: true, RTR: mpa.RTRRead}},
		{"peer-to-peer, any RTR", Config{PeerToPeer: true}},
	} {
		for _, crc := range []struct {
			name string
			crc  CRC
		}{{"CRC off", CRCOff}, {"CRC on", CRCOn}} {
			t.Run(setup.name+", "+crc.name, func(t *testing.T) {
				cfg := setup.cfg
				cfg.CRC, cfg.Logger = crc.crc, quiet
				limit := mpa.MaxPrivateData
				if cfg.Enhanced != mpa.EnhancedNever {
					limit -= mpa.EnhancedDataLen
				}
				transporttest.Run(t, transporttest.Factory{
					New: func(tb testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
						return conformance(tb, cfg, o)
					},
					DialerFirst:    !cfg.PeerToPeer,
					MaxPrivateData: limit,
				})
			})
		}
	}
}

// conformance returns a listener and a dialer with the limits that a subtest wants.
func conformance(tb testing.TB, cfg Config, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
	cfg.IRD, cfg.ORD, cfg.SendDepth, cfg.RecvDepth = o.IRD, o.ORD, o.SendDepth, o.RecvDepth
	if cfg.Enhanced == mpa.EnhancedNever {
		// Without negotiation the two have to be told.
		cfg.ORD = min(effective(o.ORD, DefaultReads), effective(o.IRD, DefaultReads))
		if cfg.ORD == 0 {
			cfg.ORD = -1
		}
	}
	if o.IRD < 0 && cfg.RTR == mpa.RTRRead {
		cfg.RTR = mpa.RTRWrite // an RTR by Read needs an IRD
	}
	l, err := Listen(tb.Context(), "127.0.0.1:0", cfg)
	if err != nil {
		tb.Fatal(err)
	}
	return l, Dialer{cfg}, l.Addr().String()
}
