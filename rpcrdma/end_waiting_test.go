package rpcrdma_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// TestEndWithRepliesWaiting ends a connection whose replies wait for room in the endpoint's queue.
// That ends the calls, so Shutdown need not wait for them.
func TestEndWithRepliesWaiting(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const depth, calls = 2, 20
		r := newRigOn(t, rpcrdma.Config{Credits: calls}, loopback.Config{SendDepth: depth},
			sameEndpoint)
		ep := r.endpoint(inline4k) // accepts no message: it is not started
		call := func(xid uint32) {
			h := header(xid, rpcrdma.TypeMsg)
			h.Credits = calls
			done := make(completer, 1)
			wr := transport.WorkRequest{
				Op: transport.OpSend, Flags: transport.Signaled, Done: done,
				Local: []transport.Slice{{Bytes: append(h.Append(nil), callBytes(xid, procNull, nil)...)}},
			}
			if err := ep.Post(&wr); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if err := <-done; err != nil {
				t.Fatal(err)
			}
		}
		for xid := range uint32(calls) {
			call(xid)
		}
		if n := r.server.Stats().InFlight; n != calls {
			t.Fatalf("%d calls are under way, want %d, whose replies do not leave", n, calls)
		}
		ep.Close()
		shut := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { shut <- r.server.Shutdown(ctx) }()
		synctest.Wait()
		select {
		case err := <-shut:
			if err != nil {
				t.Errorf("Shutdown: %v", err)
			}
		default:
			t.Errorf("Shutdown waits for calls of a connection that has ended: %d",
				r.server.Stats().InFlight)
		}
	})
}

// TestFetchEndsBefore: RDMA Reads are flushed some time before the connection has ended. The
// handler that fetched finds the context of its call ended, and so knows the cause of the error.
func TestFetchEndsBefore(t *testing.T) {
	made, flushed := make(chan *heldRequests, 1), make(chan struct{})
	r := newRigOn(t, rpcrdma.Config{}, loopback.Config{},
		func(ep transport.Endpoint) transport.Endpoint {
			h := holdRequests(ep, transport.OpRead)
			h.flushed = flushed
			h.holding.Store(true)
			go h.flush()
			made <- h
			return h
		})
	errs := make(chan [2]error, 1)
	r.server.Handle(oncrpc.Program{Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{
		1: {Name: "FETCH", Handler: func(ctx context.Context, c *oncrpc.Call) error {
			_, err := c.Args.Bulk(100).Bytes(ctx)
			errs <- [2]error{err, ctx.Err()}
			return nil
		}},
	}})
	defer close(flushed)
	p := r.raw(inline4k)
	call := head(rpcrdma.TypeMsg, 1, 44, 0xdead, 100, 0, 0, 0, 0, 0)(9)
	p.sendBytes(append(call, be32(9, 0, oncrpc.Version, testProgram, 2, 1, 0, 0, 0, 0, 100)...))
	h := wait(t, made)
	waitFor(t, func() bool { return h.active.Load() == 1 })
	p.ep.Close()
	got := wait(t, errs)
	if got[0] == nil || got[1] == nil {
		t.Errorf("Fetch fails with %v, and the context with %v", got[0], got[1])
	}
}
