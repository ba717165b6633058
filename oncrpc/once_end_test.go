package oncrpc_test

import (
	"context"
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Shutdown also waits for calls that wait for the reply to a copy.
func TestOnceShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: g.handle, Once: true})
		first, waiter := callFrom(t, peerA, callBytes(1, 1, 1)), callFrom(t, peerB, callBytes(1, 1, 1))
		waiter.hold = make(chan struct{})
		dispatchIn(s, first)
		dispatchIn(s, waiter)
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		synctest.Wait()
		close(g.open)
		<-first.reply
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("Shutdown returned %v before the last reply had left", err)
		default:
		}
		close(waiter.hold)
		if got := <-waiter.reply; len(got) != 28 {
			t.Errorf("the call that waited was answered with %x", got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// After Close, a call that waited for a failed copy is executed, as all accepted calls are.
func TestOnceClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		handle := func(ctx context.Context, c *oncrpc.Call) error {
			if n.Add(1) == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: handle, Once: true})
		first, waiter := callFrom(t, peerA, callBytes(1, 1)), callFrom(t, peerB, callBytes(1, 1))
		if _, err := oncrpc.DispatcherOf(s).AddConn(first.conn, nil); err != nil {
			t.Fatal(err)
		}
		dispatchIn(s, first)
		dispatchIn(s, waiter)
		synctest.Wait()
		s.Close()
		<-first.reply
		if got := <-waiter.reply; len(got) != 24 {
			t.Errorf("got %x", got)
		}
	})
}

// Many copies of many calls run at once. Each call is executed once, and each copy gets the right
// answer.
func TestOnceRace(t *testing.T) {
	const calls, copies = 200, 6
	var executed [calls]atomic.Int32
	s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 3}, oncrpc.Procedure{Once: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
		i := c.Args.Uint32()
		runtime.Gosched()
		executed[i].Add(1)
		c.Results.Uint32(i)
		return nil
	}})
	var wg sync.WaitGroup
	for range copies {
		wg.Go(func() {
			for i := range uint32(calls) {
				reply := dispatchFrom(t, s, peerA, callBytes(i, 1, i))
				if reply == nil || binary.BigEndian.Uint32(reply[24:]) != i {
					t.Errorf("call %d was answered with %x", i, reply)
				}
			}
		})
	}
	wg.Wait()
	for i := range executed {
		if got := executed[i].Load(); got != 1 {
			t.Errorf("call %d: %d executions, want 1", i, got)
		}
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	got := s.Stats()
	want := oncrpc.ServerStats{Calls: calls * copies, Replayed: calls * (copies - 1)}
	if got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}
