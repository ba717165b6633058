package iwarp

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

func TestConformance(t *testing.T) {
	transporttest.Run(t, transporttest.Factory{
		New: func(tb testing.TB, o transporttest.Options) (transport.Listener, transport.Dialer, string) {
			cfg := Config{IRD: o.IRD, ORD: o.ORD, SendDepth: o.SendDepth, RecvDepth: o.RecvDepth, PeerToPeer: true}
			l, err := Listen(tb.Context(), "127.0.0.1:0", cfg)
			if err != nil {
				tb.Fatal(err)
			}
			return l, Dialer{cfg}, l.Addr().String()
		},
	})
}
