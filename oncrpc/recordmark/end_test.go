package recordmark_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

func TestEnd(t *testing.T) {
	for _, tt := range []struct {
		name string
		end  func(*recordmark.Conn, rawPeer)
		want []error // what the connection's error wraps
	}{
		{"close", func(c *recordmark.Conn, _ rawPeer) { c.Close() }, []error{net.ErrClosed}},
		{"closed by peer", func(_ *recordmark.Conn, p rawPeer) { p.Close() }, []error{recordmark.ErrClosedByPeer, net.ErrClosed}},
		{"closed by peer inside a mark", func(_ *recordmark.Conn, p rawPeer) { p.Write([]byte{0x80}); p.Close() }, []error{io.ErrUnexpectedEOF, net.ErrClosed}},
		{"closed by peer inside a record", func(_ *recordmark.Conn, p rawPeer) { p.Write([]byte{0x80, 0, 0, 9, 1}); p.Close() }, []error{io.ErrUnexpectedEOF, net.ErrClosed}},
		{"too long a record", func(_ *recordmark.Conn, p rawPeer) { p.Write([]byte{0xff, 0, 0, 0}) }, []error{recordmark.ErrRecordTooLong, net.ErrClosed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, peer := newRawPeer(t, recordmark.Config{})
			if c.Err() != nil {
				t.Errorf("open connection has error %v", c.Err())
			}
			done := make(chan error, 3)
			for range cap(done) { // waiting for their replies, all of them
				go func() { done <- c.RoundTrip(context.Background(), exchange(nil)) }()
				peer.record()
			}
			tt.end(c, peer)
			for range cap(done) {
				err := hang.Receive(t, "the call", done)
				var op *recordmark.OpError
				if !errors.As(err, &op) || op.Peer != c.RemoteAddr() {
					t.Errorf("got %v, want an OpError with the peer", err)
				}
				for _, want := range tt.want {
					if !errors.Is(err, want) || !errors.Is(c.Err(), want) {
						t.Errorf("calls got %v, connection %v, want %v", err, c.Err(), want)
					}
				}
			}
			hang.Receive(t, "the end of the connection", c.Done())
			if err := c.RoundTrip(context.Background(), exchange(nil)); !errors.Is(err, tt.want[0]) {
				t.Errorf("call afterwards: got %v, want %v", err, tt.want[0])
			}
		})
	}
}

// The contexts of handlers end with the connection, and Done waits for the handlers.
func TestHandlerContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended, finish := make(chan error, 1), make(chan struct{})
		a, b := pipe(t, recordmark.Config{}, recordmark.Config{})
		srv := server(t, func(ctx context.Context, c *oncrpc.Call) error {
			<-ctx.Done()
			ended <- context.Cause(ctx)
			<-finish
			c.Results.BulkBytes(make([]byte, 10), nil)
			return nil
		})
		b.Serve(srv)
		go client(a).Call(context.Background(), 1, nil, nil)
		synctest.Wait()
		a.Close()
		if err := <-ended; !errors.Is(err, recordmark.ErrClosedByPeer) {
			t.Errorf("cause %v, want ErrClosedByPeer", err)
		}
		synctest.Wait()
		select {
		case <-b.Done():
			t.Error("Done while a handler runs")
		default:
		}
		close(finish)
		<-b.Done()
		if n := srv.Stats().InFlight; n != 0 {
			t.Errorf("%d calls in flight", n)
		}
	})
}

// releases counts.
type releases struct {
	mu sync.Mutex
	n  int
}

func (r *releases) Release() {
	r.mu.Lock()
	r.n++
	r.mu.Unlock()
}

func (r *releases) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.n
}

// Bulk results are released once: when they are sent, or when the connection ends while they are
// queued, being written, or not made yet.
func TestResultsReleased(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var rel releases
		c, peer := newRawPeer(t, recordmark.Config{})
		made, finish := 0, make(chan struct{})
		var mu sync.Mutex
		srv := server(t, func(_ context.Context, c *oncrpc.Call) error {
			mu.Lock()
			made++
			late := made == 4
			mu.Unlock()
			if late {
				<-finish
			}
			c.Results.BulkBytes(make([]byte, 100_000), &rel)
			return nil
		})
		c.Serve(srv)
		peer.call(1, 1)
		peer.record()
		synctest.Wait()
		if n := rel.count(); n != 1 {
			t.Errorf("%d releases after a reply, want 1", n)
		}
		for xid := range uint32(3) { // one is written, one is queued, one is executed
			peer.call(xid+2, 1)
			synctest.Wait()
		}
		if n := rel.count(); n != 1 {
			t.Errorf("%d releases with replies under way, want 1", n)
		}
		c.Close()
		synctest.Wait()
		if n := rel.count(); n != 3 {
			t.Errorf("%d releases after the end, want 3", n)
		}
		close(finish)
		<-c.Done()
		if n := rel.count(); n != 4 {
			t.Errorf("%d releases, want 4", n)
		}
	})
}

// A call ends with the connection, whatever its state.
func TestCloseWhileCalling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{MaxCalls: 3})
		var calls []chan error
		calls = append(calls, roundTrip(context.Background(), c, exchange(nil)))
		peer.record() // waits for its reply
		for range 3 { // is written, is queued, waits for its turn
			calls = append(calls, roundTrip(context.Background(), c, exchange(make([]byte, 5000))))
			synctest.Wait()
		}
		for _, done := range calls {
			running(t, done)
		}
		c.Close()
		for _, done := range calls {
			returned(t, done, net.ErrClosed)
		}
	})
}

func TestWriteTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, peer := newRawPeer(t, recordmark.Config{WriteTimeout: 20 * time.Second})
		for range 3 { // the deadline of earlier writes is not that of later ones
			call := roundTrip(context.Background(), c, exchange(nil))
			peer.reply(binary.BigEndian.Uint32(peer.record()), 0)
			if err := <-call; err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Minute)
		}
		err := <-roundTrip(context.Background(), c, exchange(nil))
		var op *recordmark.OpError
		if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &op) || op.Op != "write" || !op.Timeout() {
			t.Errorf("got %v, want a write that timed out", err)
		}
		if n := c.Stats().Stalled; n != 1 {
			t.Errorf("%d connections have stalled, want 1", n)
		}
	})
}

// stubborn is a connection whose writes continue after Close.
type stubborn struct {
	net.Conn
	writing, finish chan struct{}
}

func (s *stubborn) Write(p []byte) (int, error) {
	s.writing <- struct{}{}
	<-s.finish
	var sum byte
	for _, b := range p { // the race detector finds concurrent use
		sum += b
	}
	return len(p), nil
}

// However the connection ends, a call that the writer holds returns when the writer is finished
// with it, and Done waits for that.
func TestCloseWaitsForWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, y := net.Pipe()
		defer y.Close()
		s := &stubborn{x, make(chan struct{}), make(chan struct{})}
		c := newConn(t, s, recordmark.Config{})
		call := roundTrip(context.Background(), c, exchange(make([]byte, 5000)))
		<-s.writing
		c.Close()
		running(t, call)
		select {
		case <-c.Done():
			t.Error("Done while the writer writes")
		default:
		}
		go func() { // the pieces of the call one by one
			for {
				select {
				case s.finish <- struct{}{}:
				case <-s.writing:
				case <-c.Done():
					return
				}
			}
		}()
		if err := <-call; !errors.Is(err, net.ErrClosed) {
			t.Errorf("got %v, want net.ErrClosed", err)
		}
		<-c.Done()
	})
}

// A non-blocking handler that ends its goroutine, the receiving one, ends the connection.
func TestGoexit(t *testing.T) {
	c, peer := newRawPeer(t, recordmark.Config{})
	srv := server(t)
	srv.Replace(oncrpc.Program{Number: testProgram, Version: testVersion, Procedures: []oncrpc.Procedure{
		1: {NonBlocking: true, Handler: func(context.Context, *oncrpc.Call) error {
			runtime.Goexit()
			return nil
		}},
	}})
	c.Serve(srv)
	peer.call(1, 1)
	hang.Receive(t, "the end of the connection", c.Done())
	if c.Err() == nil || srv.Stats().InFlight != 0 {
		t.Errorf("error %v, stats %+v", c.Err(), srv.Stats())
	}
}
