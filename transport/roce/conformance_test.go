package roce_test

import (
	"io"
	"log/slog"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestMain(m *testing.M) {
	paired.Main()
	goleak.VerifyTestMain(m)
}

// local is a loopback address that only this package uses. Each address has one owner, and other
// tests run at the same time: internal/rocerig draws addresses below 127.252.0.0, and commands take
// one of the first sixteen of a network of 256.
const local = "127.253.71.101"

// TestConformance runs the suite with both ends on one device, and with the dialing end at a
// different address.
func TestConformance(t *testing.T) {
	for name, listen := range map[string]string{"one device": local + ":0"} {
		t.Run(name, func(t *testing.T) { transporttest.Run(t, factory(listen, roce.Config{})) })
	}
}

func factory(listen string, cfg roce.Config) transporttest.Factory {
	return transporttest.Factory{
		New: func(t testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
			cfg.IRD, cfg.ORD, cfg.SendDepth, cfg.RecvDepth = o.IRD, o.ORD, o.SendDepth, o.RecvDepth
			cfg.Logger = quiet
			l, err := roce.Listen(t.Context(), listen, cfg)
			if err != nil {
				t.Fatal(err)
			}
			cfg.Local = l.Addr().(roce.Addr).IP
			return l, roce.Dialer{Config: cfg}, l.Addr().String()
		},
	}
}
