package rpcrdma_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

// A non-blocking handler that ends its goroutine, one of the provider, ends its connection. Others
// are served.
func TestGoexit(t *testing.T) {
	all := map[string]provider{
		"roce": func(t testing.TB) (transport.Listener, transport.Dialer) {
			return rocerig.Listen(t, roce.Config{Logger: quiet})
		},
	}
	for name, p := range providers {
		all[name] = p
	}
	for name, provider := range all {
		t.Run(name, func(t *testing.T) {
			l, d := provider(t)
			r := serveRig(t, rpcrdma.Config{}, l, d, sameEndpoint)
			const exits = 2
			r.server.Handle(oncrpc.Program{Number: exits, Version: 1, Procedures: []oncrpc.Procedure{
				1: {NonBlocking: true, Handler: func(context.Context, *oncrpc.Call) error {
					runtime.Goexit()
					return nil
				}},
			}})
			dial := func() *rpcrdma.Conn { return r.dialOn(rpcrdma.Config{}, sameEndpoint) }
			other, c := dial(), dial()
			go func() { // loopback runs the handler here
				_ = oncrpc.NewClient(c, exits, 1, nil).Call(context.Background(), 1, nil, nil)
			}()
			hang.Receive(t, "the end of the connection", c.Done())
			for _, c := range []*rpcrdma.Conn{other, dial()} {
				if err := client(c).Call(t.Context(), procNull, nil, nil); err != nil {
					t.Errorf("another connection: %v", err)
				}
			}
			hang.Until(t, "the end of the call", func() bool { return r.server.Stats().InFlight == 0 })
			if got := r.server.Stats().Panics; got != 1 {
				t.Errorf("%d panics, want 1", got)
			}
		})
	}
}
