package roce_test

import (
	"io"
	"log/slog"
	"net/netip"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

func TestMain(m *testing.M) {
	paired.Main()
	goleak.VerifyTestMain(m)
}

// TestConformance runs the suite over the system's sockets, with both ends on one device.
func TestConformance(t *testing.T) {
	listen := netip.AddrPortFrom(rocerig.Addr(t), 0).String()
	transporttest.Run(t, factory(listen, roce.Config{}))
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
