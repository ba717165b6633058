package recordmark_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// Every executed call is answered, although the clients keep sending while the server shuts down.
func TestShutdownLosesNoReply(t *testing.T) {
	for range 10 {
		var executed, answered atomic.Int32
		begun := make(chan struct{})
		srv := server(t, func(ctx context.Context, c *oncrpc.Call) error {
			if executed.Add(1) == 50 {
				close(begun)
			}
			return echo(ctx, c)
		})
		x, y := connected(t, "tcp")
		a := newConn(t, x, recordmark.Config{MaxCalls: 200, Logger: quiet})
		b := newConn(t, y, recordmark.Config{MaxInFlight: 4, Logger: quiet})
		b.Serve(srv)
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				p, got := make(data, 256<<10), make(data, 256<<10)
				for client(a).Call(context.Background(), 1, p, got) == nil {
					answered.Add(1)
				}
			})
		}
		hang.Receive(t, "the call to begin", begun)
		if err := srv.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		hang.Receive(t, "the end of the connection", b.Done())
		hang.Wait(t, "the callers", &wg)
		if executed.Load() != answered.Load() {
			t.Errorf("%d calls executed, %d answered", executed.Load(), answered.Load())
		}
		a.Close()
		hang.Receive(t, "the end of the connection", a.Done())
	}
}

// halfCloser is a connection that can end its stream and still read.
type halfCloser struct {
	net.Conn
	ended atomic.Bool
}

func (h *halfCloser) CloseWrite() error {
	h.ended.Store(true)
	return nil
}

// Shutdown ends the stream, then waits a limited time for the peer to end its own.
func TestDrain(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(srv *oncrpc.Server, cancel func(), peer rawPeer)
		took time.Duration // by the bubble's clock
		want error
	}{
		{"by the peer", func(_ *oncrpc.Server, _ func(), peer rawPeer) { peer.Close() }, 0, nil},
		{"by nobody", func(*oncrpc.Server, func(), rawPeer) {}, time.Second, nil},
		{"by Close", func(srv *oncrpc.Server, _ func(), _ rawPeer) { srv.Close() }, 0, nil},
		{"by the context", func(_ *oncrpc.Server, cancel func(), _ rawPeer) { cancel() }, 0, context.Canceled},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, y := net.Pipe()
				half, peer := &halfCloser{Conn: x}, rawPeer{t, y}
				defer peer.Close()
				c := newConn(t, half, recordmark.Config{Logger: quiet})
				srv := server(t)
				c.Serve(srv)
				peer.call(1, 0)
				peer.record()
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				start := time.Now()
				done := make(chan error, 1)
				go func() { done <- srv.Shutdown(ctx) }()
				running(t, done)
				peer.call(2, 0) // read and dropped
				running(t, done)
				if !half.ended.Load() || srv.Stats().Dropped != 1 {
					t.Errorf("stream ended %v, stats %+v", half.ended.Load(), srv.Stats())
				}
				if err := c.RoundTrip(ctx, exchange(nil)); !errors.Is(err, net.ErrClosed) {
					t.Errorf("a call of this end got %v, want net.ErrClosed", err)
				}
				tt.end(srv, cancel, peer)
				if err := <-done; !errors.Is(err, tt.want) {
					t.Errorf("Shutdown returned %v, want %v", err, tt.want)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				<-c.Done()
				if !errors.Is(c.Err(), net.ErrClosed) {
					t.Errorf("connection ended with %v", c.Err())
				}
			})
		})
	}
}

// breaks is a connection whose writes start to fail.
type breaks struct {
	net.Conn
	armed atomic.Bool
	fail  chan struct{}
}

func (b *breaks) Write(p []byte) (int, error) {
	if b.armed.Load() {
		<-b.fail
		return 0, syscall.EPIPE
	}
	return b.Conn.Write(p)
}

// When writing has failed, replies that still arrive are accepted.
func TestWriteError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		b, peer := &breaks{Conn: x, fail: make(chan struct{})}, rawPeer{t, y}
		defer peer.Close()
		c := newConn(t, b, recordmark.Config{})
		sent := roundTrip(context.Background(), c, exchange(nil))
		xid := binary.BigEndian.Uint32(peer.record())
		b.armed.Store(true)
		leaving := roundTrip(context.Background(), c, exchange(nil))
		synctest.Wait()
		lost := roundTrip(context.Background(), c, exchange(nil))
		running(t, lost) // queued
		close(b.fail)
		returned(t, lost, syscall.EPIPE)
		returned(t, roundTrip(context.Background(), c, exchange(nil)), syscall.EPIPE)
		running(t, sent)
		running(t, leaving)
		peer.reply(xid, 0)
		returned(t, sent, nil)
		err := <-leaving // it may have been sent or not
		var op *recordmark.OpError
		if !errors.Is(err, syscall.EPIPE) || !errors.As(err, &op) || op.Op != "write" || c.Err() != err {
			t.Errorf("got %v, connection %v, want the write error", err, c.Err())
		}
		<-c.Done()
	})
}

// Without pending calls, a failed write ends the connection.
func TestWriteErrorOfReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		b, peer := &breaks{Conn: x, fail: make(chan struct{})}, rawPeer{t, y}
		defer peer.Close()
		c := newConn(t, b, recordmark.Config{})
		c.Serve(server(t))
		b.armed.Store(true)
		for xid := range uint32(2) {
			peer.call(xid, 0)
			synctest.Wait()
		}
		close(b.fail)
		synctest.Wait()
		if !errors.Is(c.Err(), syscall.EPIPE) {
			t.Errorf("connection ended with %v, want EPIPE", c.Err())
		}
		<-c.Done()
	})
}
