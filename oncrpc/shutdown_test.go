package oncrpc_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Shutdown waits for pending calls and for their replies to leave, and accepts nothing new.
func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 1}, oncrpc.Procedure{Handler: g.handle})
		l, conn, gone := new(closer), new(closer), new(closer)
		for _, reg := range []struct {
			register func(*closer) (func(), error)
			c        *closer
			remove   bool
		}{
			{func(c *closer) (func(), error) { return oncrpc.DispatcherOf(s).AddListener(c) }, l, false},
			{func(c *closer) (func(), error) { return oncrpc.DispatcherOf(s).AddConn(c, nil) }, conn, false},
			{func(c *closer) (func(), error) { return oncrpc.DispatcherOf(s).AddConn(c, nil) }, gone, true},
		} {
			remove, err := reg.register(reg.c)
			if err != nil {
				t.Fatal(err)
			}
			if reg.remove {
				remove()
			}
		}
		executed, waiting := newIncoming(t, callBytes(1, 1, 1)), newIncoming(t, callBytes(2, 1, 2))
		leave := make(chan struct{})
		waiting.hold = leave
		oncrpc.DispatcherOf(s).Dispatch(executed)
		oncrpc.DispatcherOf(s).Dispatch(waiting)
		done := make(chan error, 1)
		if s.Closed() {
			t.Error("closed before Shutdown")
		}
		go func() { done <- s.Shutdown(context.Background()) }()
		synctest.Wait()
		if !s.Closed() {
			t.Error("not closed while Shutdown waits")
		}
		if !l.closed.Load() || conn.closed.Load() {
			t.Errorf("listener closed %v, connection closed %v; want true, false", l.closed.Load(), conn.closed.Load())
		}
		refused := newIncoming(t, callBytes(3, 1, 3))
		oncrpc.DispatcherOf(s).Dispatch(refused)
		if reply := <-refused.reply; reply != nil {
			t.Errorf("a new call was answered with %x", reply)
		}
		close(g.open)
		<-executed.reply
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("Shutdown returned %v before the last reply had left", err)
		default:
		}
		close(leave)
		if err := <-done; err != nil {
			t.Error(err)
		}
		if reply := <-waiting.reply; len(reply) != 28 {
			t.Errorf("the waiting call was answered with %x", reply)
		}
		if !conn.closed.Load() || gone.closed.Load() {
			t.Errorf("connection closed %v, the one that had gone %v; want true, false", conn.closed.Load(), gone.closed.Load())
		}
		// conn is closed, but still registered
		if got, want := s.Stats(), (oncrpc.ServerStats{Calls: 2, Dropped: 1, Conns: 1}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		if _, err := oncrpc.DispatcherOf(s).AddListener(l); err != oncrpc.ErrServerClosed {
			t.Errorf("AddListener: got %v", err)
		}
		if _, err := oncrpc.DispatcherOf(s).AddConn(conn, nil); err != oncrpc.ErrServerClosed {
			t.Errorf("AddConn: got %v", err)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Errorf("second Shutdown: got %v", err)
		}
	})
}

// When its context ends, Shutdown closes the connections with pending calls.
func TestShutdownExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: func(ctx context.Context, _ *oncrpc.Call) error {
			<-ctx.Done()
			return nil
		}})
		in := newIncoming(t, callBytes(1, 1))
		in.conn, _ = connection(t)
		if _, err := oncrpc.DispatcherOf(s).AddConn(in.conn, nil); err != nil {
			t.Fatal(err)
		}
		oncrpc.DispatcherOf(s).Dispatch(in)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want context.Canceled", err)
		}
		<-in.reply
	})
}

func TestClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 1}, oncrpc.Procedure{Handler: g.handle})
		var ins []*incoming
		for i := range uint32(3) {
			ins = append(ins, newIncoming(t, callBytes(i, 1, i)))
			oncrpc.DispatcherOf(s).Dispatch(ins[i])
		}
		conn := new(closer)
		if _, err := oncrpc.DispatcherOf(s).AddConn(conn, nil); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil || !conn.closed.Load() {
			t.Errorf("got %v, connection closed %v", err, conn.closed.Load())
		}
		close(g.open) // accepted calls are still executed
		for _, in := range ins {
			<-in.reply
		}
	})
}

// closer is a listener or a connection that records Close.
type closer struct {
	oncrpc.Transport
	closed atomic.Bool
}

// Listeners may be values that are neither pointers nor comparable.
func TestAddListenerAnything(t *testing.T) {
	s := oncrpc.NewServer(oncrpc.ServerConfig{})
	a, b := new(closer), new(closer)
	remove, err := oncrpc.DispatcherOf(s).AddListener(closers{a})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := oncrpc.DispatcherOf(s).AddListener(closers{b}); err != nil {
		t.Fatal(err)
	}
	remove()
	s.Close()
	if a.closed.Load() || !b.closed.Load() {
		t.Errorf("closed: %v and %v, want the second alone", a.closed.Load(), b.closed.Load())
	}
}

// closers is a listener made of several.
type closers []*closer

// Close closes all of them.
func (c closers) Close() error {
	for _, one := range c {
		_ = one.Close()
	}
	return nil
}

func (c *closer) Close() error {
	c.closed.Store(true)
	return nil
}

// Calls race with the server's end. Each is answered or dropped, and nothing is left.
func TestShutdownRace(t *testing.T) {
	for i := range 400 {
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 2}, oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error { return nil }})
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 10 {
					dispatch(t, s, callBytes(1, 1))
				}
			})
		}
		if i%2 == 0 {
			s.Close()
		} else if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		wg.Wait()
		if err := s.Shutdown(t.Context()); err != nil { // Close has waited for no calls
			t.Error(err)
		}
		if got := s.Stats(); got.Calls+got.Dropped != 40 || got.InFlight != 0 {
			t.Errorf("stats %+v", got)
		}
	}
}
