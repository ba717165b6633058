package rpcrdma_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestFetchEnds checks that the context of a call has ended when its Fetch fails because the
// connection ended, so that a handler that logs the error knows the cause.
func TestFetchEnds(t *testing.T) {
	wire := iwarp.Config{Logger: quiet}
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", wire)
	if err != nil {
		t.Fatal(err)
	}
	errs := make(chan [2]error, 1)
	handler := func(ctx context.Context, c *oncrpc.Call) error {
		_, err := c.Args.Bulk(100).Bytes(ctx)
		errs <- [2]error{err, ctx.Err()}
		return nil
	}
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.Handle(oncrpc.Program{Number: testProgram, Version: 1, Procedures: []oncrpc.Procedure{1: {Handler: handler}}})
	served := make(chan error, 1)
	go func() { served <- rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet}) }()
	defer func() {
		s.Close()
		wait(t, served)
	}()
	for range 20 {
		ep, err := iwarp.Dialer{Config: wire}.Dial(t.Context(), l.Addr().String(),
			transport.Private(inline4k.bytes()))
		if err != nil {
			t.Fatal(err)
		}
		p := newRawPeer(t, ep)
		// This steering tag does not exist.
		call := head(rpcrdma.TypeMsg, 1, 44, 0xdead, 100, 0, 0, 0, 0, 0)(9)
		p.sendBytes(append(call, be32(9, 0, oncrpc.Version, testProgram, 1, 1, 0, 0, 0, 0, 100)...))
		if got := wait(t, errs); got[0] == nil || got[1] == nil {
			t.Fatalf("Fetch fails with %v, and the context with %v", got[0], got[1])
		}
	}
}
