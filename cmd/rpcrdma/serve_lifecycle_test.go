package main

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/serve"
	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// newGate returns a network that leads to a server.
func newGate(t *testing.T, server string) *faultnet.Relay {
	t.Helper()
	g, err := faultnet.NewRelay(server, faultnet.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Close() })
	return g
}

// callUnderWay begins a WRITE over RDMA whose data does not reach the server, because its RDMA Read
// Request does not reach the client, until letGo is called. The result of the WRITE is sent to the
// channel.
func callUnderWay(t *testing.T, g *faultnet.Relay) <-chan error {
	t.Helper()
	m := mountAs(t, dialRDMA(t, g.Addr()), 0, "/export")
	h := m.put(t, "file", nil)
	link := g.Links()[0]
	link.Freeze(faultnet.Down)
	result := make(chan error, 1)
	go func() {
		_, err := m.Write(context.WithoutCancel(t.Context()), h, 0, rig.Pattern(1<<20), nfs3.FileSync)
		result <- err
	}()
	hang.Until(t, "the server asks for no data", func() bool {
		_, held := link.Bytes(faultnet.Down)
		return held > 0
	})
	return result
}

// letGo lets through what the server has sent.
func letGo(g *faultnet.Relay) {
	for _, l := range g.Links() {
		l.Thaw(faultnet.Down)
	}
}

// TestServeDrains: a call under way when the signal comes is answered.
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
	letGo(g)
	if err := <-result; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	<-s.over
	if s.code != cli.ExitOK || !strings.Contains(s.stderr.String(), "msg=drained\n") {
		t.Errorf("exit %d: %v", s.code, s.stderr)
	}
}

// TestServeDrainLimit: a call that takes too long is given up.
func TestServeDrainLimit(t *testing.T) {
	cfg := serve.NewConfig(nil)
	cfg.Exports, cfg.Listen = []serve.Export{{Name: "/export"}}, "127.0.0.1:0"
	cfg.DrainTime = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &serveCommand{stdout: newTranscript(), over: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		defer close(s.over)
		ended <- serve.Run(ctx, cfg, s.stdout, slog.New(slog.DiscardHandler))
	}()
	s.greet(t)
	g := newGate(t, s.rdma)
	result := callUnderWay(t, g)
	cancel()
	if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "calls were still under way after 1ms, and are lost") {
		t.Errorf("the server ended with %v", err)
	}
	letGo(g)
	if err := <-result; err == nil {
		t.Error("the call under way was answered")
	}
}

// TestServeLogLevel: how much an idle server logs.
func TestServeLogLevel(t *testing.T) {
	for level, want := range map[string]int{"info": 2, "warn": 0, "error": 0} {
		s := startServe(t, "--memory", "/export", "--log-level", level)
		s.stop()
		if got := strings.Count(s.stderr.String(), "\n"); got != want {
			t.Errorf("%s: %d lines, want %d:\n%v", level, got, want, s.stderr)
		}
	}
}
