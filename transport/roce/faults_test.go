package roce_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// raceDetector says that the tests run under the race detector, which is slow.
var raceDetector bool

// TestConformanceFaults runs the suite over networks that lose, reorder, duplicate and damage
// packets. Under the race detector one network does all of it.
func TestConformanceFaults(t *testing.T) {
	for _, tt := range []struct {
		name string
		way  faultnet.Way
	}{
		{"1 % loss", faultnet.Way{Loss: 0.01}},
		{"5 % loss", faultnet.Way{Loss: 0.05}},
		{"reordering", faultnet.Way{Reorder: 0.02}},
		{"duplicates", faultnet.Way{Duplicate: 0.05}},
		{"damage", faultnet.Way{Flip: 1e-5}},
		{"all", faultnet.Way{Loss: 0.01, Reorder: 0.005, Duplicate: 0.01, Flip: 1e-6}},
	} {
		if raceDetector && tt.name != "all" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			tt.way.Buffer = 8 << 20
			transporttest.Run(t, transporttest.Factory{
				New: func(t testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer,
					string) {
					a, b, _ := roce.TwoHosts(t, faultnet.Config{Seed: 1, Up: tt.way, Down: tt.way})
					cfg := roce.Config{
						IRD: o.IRD, ORD: o.ORD, SendDepth: o.SendDepth, RecvDepth: o.RecvDepth,
						Logger: quiet,
					}
					l, err := roce.Listen(t.Context(), "192.0.2.2:0", cfg.On(b))
					if err != nil {
						t.Fatal(err)
					}
					return l, roce.Dialer{Config: cfg.On(a)}, l.Addr().String()
				},
				UnusedAddr: "192.0.2.2:1", // of an existing host, which reports the closed port
				Bubble:     true,
			})
		})
	}
}
