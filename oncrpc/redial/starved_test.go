package redial_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// blockProc is a procedure that returns when the test lets it or its connection has ended.
const blockProc = 1

// blocker is a server over RDMA whose calls the test blocks, and a client.
type blocker struct {
	t       *testing.T
	conn    *redial.Conn
	client  *oncrpc.Client
	entered chan struct{} // gets an element from each call of blockProc
	release chan struct{} // an element lets one return, closing lets all
	dialler chan struct{} // an element lets one connection be made, closing all

	mu    sync.Mutex // guards the fields below
	conns []*rpcrdma.Conn
}

// newBlocker returns a blocker with one connection, which has 64 credits.
func newBlocker(t *testing.T, conns int) *blocker {
	t.Helper()
	b := &blocker{
		t:       t,
		entered: make(chan struct{}, 1000),
		release: make(chan struct{}),
		dialler: make(chan struct{}, 100),
	}
	quiet := slog.New(slog.DiscardHandler)
	fabric := loopback.New()
	l, err := fabric.Listen("blocker", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	srv.Handle(oncrpc.Program{Number: testProgram, Version: 1, Procedures: []oncrpc.Procedure{
		blockProc: {Handler: func(ctx context.Context, _ *oncrpc.Call) error {
			b.entered <- struct{}{}
			select {
			case <-b.release:
			case <-ctx.Done():
			}
			return nil
		}},
	}})
	served := make(chan error, 1)
	cfg := rpcrdma.Config{Logger: quiet}
	go func() { served <- rpcrdma.Serve(context.Background(), l, srv, cfg) }()
	t.Cleanup(func() {
		srv.Close()
		if err := <-served; !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Error(err)
		}
	})
	b.dialler <- struct{}{}
	b.conn, err = redial.New(t.Context(), func(ctx context.Context) (oncrpc.Transport, error) {
		select {
		case <-b.dialler:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		c, err := rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "blocker", cfg)
		if err != nil {
			return nil, err
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		b.conns = append(b.conns, c)
		return c, nil
	}, redial.Config{Conns: conns, Stall: -1, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		b.conn.Close()
		<-b.conn.Done()
	})
	b.client = oncrpc.NewClient(b.conn, testProgram, 1, oncrpc.AuthNone())
	b.null()
	return b
}

// made returns the connections made.
func (b *blocker) made() []*rpcrdma.Conn {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.conns
}

// in waits until the n-th connection is in use.
func (b *blocker) in(n int) *rpcrdma.Conn {
	b.t.Helper()
	hang.Until(b.t, "the connection is in use", func() bool {
		conns := b.made()
		return len(conns) >= n && b.conn.LocalAddr() == conns[n-1].LocalAddr()
	})
	return b.made()[n-1]
}

// waiting returns how many calls wait for a credit on all connections.
func (b *blocker) waiting() int {
	n := 0
	for _, c := range b.made() {
		_, _, waiting := c.Credits()
		n += waiting
	}
	return n
}

// giveUp makes a call and abandons it while it is executed or waits for a credit.
func (b *blocker) giveUp() (waited bool) {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- b.client.Call(ctx, blockProc, nil, nil) }()
	hang.Until(b.t, "the call is under way", func() bool {
		select {
		case <-b.entered:
			return true
		default:
			waited = b.waiting() > 0
			return waited
		}
	})
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		b.t.Errorf("a call that was given up: %v", err)
	}
	return waited
}

// null calls procedure 0, which must not wait for a credit.
func (b *blocker) null() {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- b.client.Call(ctx, 0, nil, nil) }()
	hang.Until(b.t, "the call has ended or waits", func() bool {
		select {
		case err := <-done:
			if err != nil {
				b.t.Errorf("a call: %v", err)
			}
			return true
		default:
			if b.waiting() == 0 {
				return false
			}
			b.t.Error("a call waits for a credit")
			cancel()
			<-done
			return true
		}
	})
}

// Abandoned calls keep their credits until the server answers. They count when the next call
// chooses a connection, so two connections with 64 credits each have room for 70 of them.
func TestGivenUpCalls(t *testing.T) {
	b := newBlocker(t, 2)
	close(b.dialler)
	two := make(chan error, 2)
	for range cap(two) {
		go func() { two <- b.client.Call(t.Context(), blockProc, nil, nil) }()
		<-b.entered
	}
	b.in(2)
	b.null() // over the second, which has its credits then
	for range cap(two) {
		b.release <- struct{}{}
		if err := <-two; err != nil {
			t.Error(err)
		}
	}
	for i := range 70 {
		if b.giveUp() {
			t.Fatalf("call %d waits for a credit", i+1)
		}
	}
	b.null()
	close(b.release)
}

// A connection whose credits are all in use gets no call while another has some left.
func TestStarved(t *testing.T) {
	b := newBlocker(t, 2)
	for i := range 70 {
		if waited := b.giveUp(); waited != (i >= 64) {
			t.Fatalf("call %d waits for a credit: %v", i+1, waited)
		}
	}
	starved := b.in(1)
	close(b.dialler)
	other := b.in(2) // dialled since the first was in use
	sent := starved.Stats().CallsSent
	for i := range 10 {
		b.null()
		if n := other.Stats().CallsSent; n != uint64(i+1) {
			t.Errorf("%d of %d calls went to the connection that has credits", n, i+1)
		}
	}
	if n := starved.Stats().CallsSent; n != sent {
		t.Errorf("%d calls were sent over the starved connection", n-sent)
	}
	close(b.release)
}
