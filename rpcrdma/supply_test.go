package rpcrdma_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestEndedHoldsLittle: a connection that has ended while its handler still runs keeps only the
// message of that call.
func TestEndedHoldsLittle(t *testing.T) {
	cr := newManyClients(t, "loopback", 1, rpcrdma.Config{Credits: 8})
	entered, release := make(chan struct{}), make(chan struct{})
	cr.server.Handle(oncrpc.Program{Number: testProgram, Version: 3, Procedures: []oncrpc.Procedure{
		1: {Name: "STUBBORN", Handler: func(context.Context, *oncrpc.Call) error {
			close(entered)
			<-release
			return nil
		}},
	}})
	together(t, cr.clients[0], 8)
	var conn *rpcrdma.Conn
	for range 8 {
		conn = wait(t, cr.program.conns)
	}
	go func() {
		_ = oncrpc.NewClient(cr.clients[0], testProgram, 3, oncrpc.AuthNone()).Call(t.Context(), 1,
			nil, nil)
	}()
	wait(t, entered)
	used := func() int64 {
		free, all, _ := conn.ReceiveMemory()
		return all - free
	}
	if used := used(); used <= testReceiveSize {
		t.Errorf("%d bytes are reserved for a busy connection", used)
	}
	cr.clients[0].Close()
	hang.Receive(t, "the end of the connection", conn.Done())
	if used := used(); used != testReceiveSize {
		t.Errorf("%d bytes are reserved for a connection that has ended, want %d", used,
			testReceiveSize)
	}
	close(release)
	waitFor(t, func() bool { return used() == 0 })
}
