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

const exits = 2

// exiting is program exits, whose procedure 1 ends its goroutine.
func exiting(others ...oncrpc.Procedure) oncrpc.Program {
	exit := func(context.Context, *oncrpc.Call) error {
		runtime.Goexit()
		return nil
	}
	all := []oncrpc.Procedure{1: {NonBlocking: true, Handler: exit}}
	return oncrpc.Program{Number: exits, Version: 1, Procedures: append(all, others...)}
}

// TestGoexit: a non-blocking handler that ends its goroutine, one of the provider, ends its
// connection. Others are served.
func TestGoexit(t *testing.T) {
	overRoCE := func(t testing.TB) (transport.Listener, transport.Dialer) {
		return rocerig.Listen(t, roce.Config{Logger: quiet})
	}
	for name, provider := range map[string]provider{
		"loopback": providers["loopback"], "iwarp": providers["iwarp"], "roce": overRoCE,
	} {
		t.Run(name, func(t *testing.T) {
			l, d := provider(t)
			r := serveRig(t, rpcrdma.Config{}, l, d, sameEndpoint)
			r.server.Handle(exiting())
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

// TestGoexitWaiting: a handler that ends the goroutine on which calls go on that waited for memory
// delays none of the others.
func TestGoexitWaiting(t *testing.T) {
	counters := new(rpcrdma.Counters)
	r := newRig(t, rpcrdma.Config{
		MaxMessage: 64 << 10, ConnMemory: 128 << 10, ServerMemory: 128 << 10, Counters: counters,
	})
	r.hosts.apart.Store(true)
	holding, release := make(chan struct{}), make(chan struct{})
	hold := func(context.Context, *oncrpc.Call) error {
		holding <- struct{}{}
		<-release
		return nil
	}
	nothing := func(context.Context, *oncrpc.Call) error { return nil }
	r.server.Handle(exiting(oncrpc.Procedure{Handler: hold},
		oncrpc.Procedure{NonBlocking: true, Handler: nothing}))
	call := func(procedure uint32, size int) <-chan error {
		done := make(chan error, 1)
		c := oncrpc.NewClient(r.dialOn(rpcrdma.Config{}, sameEndpoint), exits, 1, nil)
		go func() {
			done <- c.Do(context.Background(), &oncrpc.Request{Procedure: procedure, MaxReply: size})
		}()
		return done
	}
	const all, few = 64 << 10, 20 << 10 // of the memory that a connection may have
	for range 2 {
		call(2, all)
		hang.Receive(t, "a call", holding)
	}
	var last <-chan error
	for i, procedure := range []uint32{1, 3} {
		last = call(procedure, few)
		hang.Until(t, "a call that waits", func() bool { return counters.Totals().Waited == uint64(i+1) })
	}
	release <- struct{}{}
	if err := hang.Receive(t, "the last call", last); err != nil {
		t.Error(err)
	}
	release <- struct{}{}
}
