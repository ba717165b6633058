package main

import (
	"context"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// gate passes a connection on to a server. When it is told to hold, what the server sends stays in
// it.
type gate struct {
	addr   string
	hold   chan struct{} // to close: hold what comes from now on
	held   chan struct{} // closed when there is something
	let    chan struct{} // to close: let go
	opened sync.Once
}

func newGate(t *testing.T, server string) *gate {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{addr: l.Addr().String(), hold: make(chan struct{}), held: make(chan struct{}),
		let: make(chan struct{})}
	over := make(chan struct{})
	go func() {
		defer close(over)
		client, err := l.Accept()
		if err != nil {
			return
		}
		defer client.Close()
		s, err := net.Dial("tcp", server)
		if err != nil {
			t.Error(err)
			return
		}
		defer s.Close()
		up := make(chan struct{})
		go func() {
			defer close(up)
			io.Copy(s, client)
			s.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(client, readerFunc(func(p []byte) (int, error) {
			n, err := s.Read(p)
			select {
			case <-g.hold:
				if n > 0 {
					g.opened.Do(func() { close(g.held) })
				}
				<-g.let
			default:
			}
			return n, err
		}))
		client.(*net.TCPConn).CloseWrite()
		<-up
	}()
	t.Cleanup(func() {
		l.Close()
		<-over
	})
	return g
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// callUnderWay begins a WRITE over RDMA whose data does not reach the server, because its RDMA Read
// Request does not reach the client, until the gate lets it. The result of the WRITE is sent to the
// channel.
func callUnderWay(t *testing.T, g *gate) <-chan error {
	t.Helper()
	m := mountAs(t, dialRDMA(t, g.addr), 0, "/export")
	h := m.put(t, "file", nil)
	close(g.hold)
	result := make(chan error, 1)
	go func() {
		_, err := m.Write(context.WithoutCancel(t.Context()), h, 0, pattern(1<<20), nfs3.FileSync)
		result <- err
	}()
	<-g.held
	return result
}

// TestServeDrains: a call that is under way when the signal comes is answered.
func TestServeDrains(t *testing.T) {
	s := startServe(t, "--memory", "/export")
	g := newGate(t, s.rdma)
	result := callUnderWay(t, g)
	s.cancel()
	s.stderr.await("msg=draining", s.over)
	select {
	case <-s.over:
		t.Error("the server has ended with a call under way")
	case err := <-result:
		t.Errorf("the call has ended before its data was there: %v", err)
	default:
	}
	close(g.let)
	if err := <-result; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	<-s.over
	if s.code != exitOK || !strings.HasSuffix(s.stderr.String(), "msg=drained\n") {
		t.Errorf("exit %d: %v", s.code, s.stderr)
	}
}

// TestServeDrainLimit: a call that takes too long is given up.
func TestServeDrainLimit(t *testing.T) {
	cfg := newServeConfig(nil)
	cfg.exports, cfg.listen, cfg.provider = []export{{name: "/export"}}, "127.0.0.1:0", "iwarp"
	cfg.drainTime = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &serveCommand{stdout: newTranscript(), over: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		defer close(s.over)
		ended <- serve(ctx, cfg, s.stdout, slog.New(slog.DiscardHandler))
	}()
	s.greet(t)
	g := newGate(t, s.rdma)
	result := callUnderWay(t, g)
	cancel()
	if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "calls were still under way after 1ms, and are lost") {
		t.Errorf("the server ended with %v", err)
	}
	close(g.let)
	if err := <-result; err == nil {
		t.Error("the call under way was answered")
	}
}

// TestServeLogLevel: how much a server says that nothing happens to.
func TestServeLogLevel(t *testing.T) {
	for level, want := range map[string]int{"info": 2, "warn": 0, "error": 0} {
		s := startServe(t, "--memory", "/export", "--log-level", level)
		s.stop()
		if got := strings.Count(s.stderr.String(), "\n"); got != want {
			t.Errorf("%s: %d lines, want %d:\n%v", level, got, want, s.stderr)
		}
	}
}
