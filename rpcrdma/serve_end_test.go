package rpcrdma_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestServeEndsWhileAccepting ends the context of Serve when a connection has just been made and
// Serve has not noted it yet. The connection is closed, too.
func TestServeEndsWhileAccepting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		fabric := loopback.New()
		l, err := fabric.Listen("server", loopback.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		goOn := make(chan struct{})
		late := delayed{l, func() { <-goOn }}
		served := make(chan error, 1)
		go func() {
			served <- rpcrdma.Serve(ctx, late, new(oncrpc.Server), rpcrdma.Config{Logger: quiet})
		}()
		ep, err := fabric.Dialer(loopback.Config{}).Dial(t.Context(), "server", nil)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait() // Serve has closed all connections that it knows of
		close(goOn)
		synctest.Wait()
		select {
		case err := <-served:
			if !errors.Is(err, context.Canceled) {
				t.Errorf("Serve: %v", err)
			}
		default:
			t.Error("the connection is served still")
		}
		ep.Close()
		<-ep.Done()
	})
}
