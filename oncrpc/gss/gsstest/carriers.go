package gsstest

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// dialer connects to a server.
type dialer func(ctx context.Context) (oncrpc.Transport, error)

// onCarriers runs a test over each transport.
func onCarriers(t *testing.T, test func(t *testing.T, over func(*testing.T, *server) dialer)) {
	t.Run("TCP", func(t *testing.T) { test(t, overTCP) })
	t.Run("RDMA", func(t *testing.T) { test(t, overRDMA) })
}

func overTCP(t *testing.T, s *server) dialer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, func() error {
		return recordmark.Serve(context.Background(), l, s.Server, recordmark.Config{Logger: quiet})
	})
	return func(ctx context.Context) (oncrpc.Transport, error) {
		return recordmark.Dial(ctx, l.Addr().String(),
			recordmark.Config{EnforceMaxReply: true, Logger: quiet})
	}
}

func overRDMA(t *testing.T, s *server) dialer {
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, func() error {
		return rpcrdma.Serve(context.Background(), l, s.Server, rpcrdma.Config{Logger: quiet})
	})
	return func(ctx context.Context) (oncrpc.Transport, error) {
		return rpcrdma.Dial(ctx, iwarp.Dialer{}, l.Addr().String(), rpcrdma.Config{Logger: quiet})
	}
}

// serves runs a Serve function until the test ends.
func serves(t *testing.T, s *server, serve func() error) {
	served := make(chan error, 1)
	go func() { served <- serve() }()
	t.Cleanup(func() {
		s.Close()
		if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	})
}

// connect makes a connection and closes it when the test ends.
func connect(t *testing.T, dial dialer) oncrpc.Transport {
	t.Helper()
	c, err := dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c
}
