package recordmark_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"weak"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

// listener accepts what is sent to conns.
type listener struct {
	conns chan any // a net.Conn or an error
	once  sync.Once
	done  chan struct{}
}

func newListener(n int) *listener {
	return &listener{conns: make(chan any, n), done: make(chan struct{})}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case v := <-l.conns:
		if conn, ok := v.(net.Conn); ok {
			return conn, nil
		}
		return nil, v.(error)
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 2049} }

// dial returns a connection to what the listener serves.
func (l *listener) dial(t *testing.T) *recordmark.Conn {
	x, y := net.Pipe()
	l.conns <- y
	c := newConn(t, x, recordmark.Config{})
	t.Cleanup(func() {
		c.Close()
		hang.Receive(t, "the end of the connection", c.Done())
	})
	return c
}

func TestServe(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := server(t, echo)
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, srv, recordmark.Config{}) }()
	var conns []*recordmark.Conn
	for range 3 {
		c, err := recordmark.Dial(context.Background(), l.Addr().String(), recordmark.Config{})
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, c)
		got := make(data, 5)
		if err := client(c).Call(context.Background(), 1, data("hello"), got); err != nil || string(got) != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
	}
	if err := srv.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := hang.Receive(t, "the end of Serve", served); err != oncrpc.ErrServerClosed || !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve returned %v, want ErrServerClosed", err)
	}
	for _, c := range conns {
		hang.Receive(t, "the end of the connection", c.Done())
		if !errors.Is(c.Err(), recordmark.ErrClosedByPeer) {
			t.Errorf("connection ended with %v, want ErrClosedByPeer", c.Err())
		}
	}
	if err := recordmark.Serve(context.Background(), newListener(0), srv, recordmark.Config{}); err != oncrpc.ErrServerClosed {
		t.Errorf("Serve afterwards returned %v, want ErrServerClosed", err)
	}
}

// Shutdown waits for pending calls, and their replies arrive.
func TestServeShutdownDrains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(1)
		finish := make(chan struct{})
		srv := server(t, func(_ context.Context, c *oncrpc.Call) error {
			<-finish
			c.Results.Uint32(42)
			return nil
		})
		served, drained, called := make(chan error, 1), make(chan error, 1), make(chan error, 1)
		go func() { served <- recordmark.Serve(context.Background(), l, srv, recordmark.Config{}) }()
		c := l.dial(t)
		var got result
		go func() { called <- client(c).Call(context.Background(), 1, nil, &got) }()
		synctest.Wait()
		go func() { drained <- srv.Shutdown(context.Background()) }()
		if err := <-served; err != oncrpc.ErrServerClosed {
			t.Errorf("Serve returned %v", err)
		}
		running(t, drained)
		running(t, called)
		close(finish)
		if err := <-called; err != nil || got.word != 42 {
			t.Errorf("the call under way got %d, %v", got.word, err)
		}
		if err := <-drained; err != nil {
			t.Errorf("Shutdown returned %v", err)
		}
		<-c.Done()
	})
}

func TestServeContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(1)
		ctx, cancel := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- recordmark.Serve(ctx, l, server(t), recordmark.Config{}) }()
		c := l.dial(t)
		if err := client(c).Call(ctx, 0, nil, nil); err != nil {
			t.Fatal(err)
		}
		cancel()
		err := <-served
		var op *recordmark.OpError
		if !errors.Is(err, context.Canceled) || !errors.As(err, &op) || op.Op != "serve" {
			t.Errorf("Serve returned %v, want a serve OpError that wraps context.Canceled", err)
		}
		<-c.Done()
		if !errors.Is(c.Err(), recordmark.ErrClosedByPeer) {
			t.Errorf("connection ended with %v", c.Err())
		}
	})
}

// A temporary shortage of resources does not end Serve; other errors do.
func TestServeAcceptErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := newListener(20)
		for range 12 {
			l.conns <- &net.OpError{Op: "accept", Err: syscall.EMFILE}
		}
		srv := server(t)
		served := make(chan error, 1)
		go func() {
			served <- recordmark.Serve(context.Background(), l, srv, recordmark.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		}()
		c := l.dial(t)
		if err := client(c).Call(context.Background(), 0, nil, nil); err != nil {
			t.Fatal(err)
		}
		broken := errors.New("broken")
		l.conns <- broken
		err := <-served
		var op *recordmark.OpError
		if !errors.Is(err, broken) || !errors.As(err, &op) || op.Peer.String() != "192.0.2.1:2049" {
			t.Errorf("Serve returned %v", err)
		}
		if n := strings.Count(log.String(), "pause="); n != 12 || !strings.Contains(log.String(), "pause=5ms") || !strings.Contains(log.String(), "pause=1s") {
			t.Errorf("log\n%s", &log)
		}
	})
}

// If a host repeats faults on new connections, each fault is logged once.
func TestServeFaults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		l := newListener(1)
		srv := server(t)
		served := make(chan error, 1)
		go func() {
			served <- recordmark.Serve(context.Background(), l, srv, recordmark.Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		}()
		for i := range 6 {
			here, there := net.Pipe()
			l.conns <- there
			// A record that is too long, or iWARP at the port for TCP.
			here.Write([]byte([]string{"\xff\x00\x00\x00", "MPA "}[i%2]))
			if n, err := here.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("read %d bytes, %v, want the end", n, err)
			}
		}
		srv.Close()
		returned(t, served, oncrpc.ErrServerClosed)
		if n := strings.Count(log.String(), "level=WARN"); n != 2 || !strings.Contains(log.String(), "the peer speaks iWARP") {
			t.Errorf("%d lines, want 2:\n%s", n, &log)
		}
	})
}

// Shutdown does not wait for a pause of Serve.
func TestServeShutdownInPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(1)
		l.conns <- syscall.EMFILE
		srv := server(t)
		served := make(chan error, 1)
		go func() { served <- recordmark.Serve(context.Background(), l, srv, recordmark.Config{Logger: quiet}) }()
		synctest.Wait()
		srv.Close()
		returned(t, served, oncrpc.ErrServerClosed)
	})
}

// A server keeps no reference to a connection that has ended.
func TestServeForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := server(t)
		ended := func() weak.Pointer[recordmark.Conn] {
			x, y := net.Pipe()
			c := newConn(t, x, recordmark.Config{})
			c.Serve(srv)
			y.Close()
			<-c.Done()
			return weak.Make(c)
		}()
		synctest.Wait()
		for range 10 { // pools give up what they hold after the second
			runtime.GC()
		}
		if ended.Value() != nil {
			t.Error("the connection is still there")
		}
	})
}

// Serving a connection with a server that has ended ends the connection.
func TestServeClosedServer(t *testing.T) {
	srv := server(t)
	srv.Close()
	a, _ := pipe(t, recordmark.Config{}, recordmark.Config{})
	a.Serve(srv)
	hang.Receive(t, "the end of the connection", a.Done())
	if !errors.Is(a.Err(), oncrpc.ErrServerClosed) {
		t.Errorf("connection ended with %v", a.Err())
	}
}
