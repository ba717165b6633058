package kernelsctp

import (
	"errors"
	"log/slog"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestConformance runs the suite over the kernel's SCTP, each connection on its own association. If
// this kernel has no SCTP, the guest of interop/linux runs it.
func TestConformance(t *testing.T) {
	quiet := slog.New(slog.DiscardHandler)
	low := sctp.Config{Logger: quiet}
	anywhere := netip.MustParseAddrPort("127.0.0.1:0")
	l, err := Listen(anywhere, low)
	if errors.Is(err, unix.EPROTONOSUPPORT) {
		t.Skip("this kernel has no SCTP")
	}
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	transporttest.Run(t, transporttest.Factory{
		New: func(tb testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer,
			string) {
			below, err := Listen(anywhere, low)
			if err != nil {
				tb.Fatal(err)
			}
			cfg := iwarp.Config{
				IRD: o.IRD, ORD: o.ORD, SendDepth: o.SendDepth, RecvDepth: o.RecvDepth,
				Enhanced: mpa.EnhancedRequired, Logger: quiet,
			}
			l, err := iwarp.NewListener(below, cfg)
			if err != nil {
				tb.Fatal(err)
			}
			d := iwarp.Dialer{Config: cfg, DialContext: Dialer{low}.DialContext}
			return l, d, l.Addr().String()
		},
		UnusedAddr:    "127.0.0.1:1",
		ReportsCauses: true,
	})
}
