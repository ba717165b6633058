package transport_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestProvider runs the suite for the provider of the example.
func TestProvider(t *testing.T) {
	transporttest.Run(t, transporttest.Factory{
		New: func(_ testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
			limits := standard
			for _, x := range []struct {
				wanted int
				limit  *int
			}{
				{o.SendDepth, &limits.SendDepth}, {o.RecvDepth, &limits.RecvDepth},
				{o.IRD, &limits.IRD}, {o.ORD, &limits.ORD},
			} {
				if x.wanted != 0 {
					*x.limit = max(x.wanted, 0)
				}
			}
			limits.ORD = min(limits.ORD, limits.IRD)
			l := newListener("server", limits)
			return l, dialer{l}, "server"
		},
		ReportsCauses: true,
	})
}
