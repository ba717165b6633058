package gateway

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// lines counts the lines logged.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) count(s string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), s)
}

// down is a server that cannot be reached until it is up.
type down struct {
	dial  DialFunc
	up    atomic.Bool
	tried chan struct{} // gets one for each attempt in vain
}

func newDown(dial DialFunc) *down { return &down{dial: dial, tried: make(chan struct{}, 1000)} }

func (d *down) Dial(ctx context.Context) (oncrpc.Transport, error) {
	if !d.up.Load() {
		select {
		case d.tried <- struct{}{}:
		default:
		}
		return nil, errors.New("no such server")
	}
	return d.dial(ctx)
}

// TestUnreachable: while the server cannot be reached, calls wait, however often they come. They
// are answered when it can. This is logged once.
func TestUnreachable(t *testing.T) {
	var log lines
	gate := newGate()
	close(gate.open)
	d := newDown(overRDMA(t, gateServer(gate), rpcrdma.Config{}))
	g := start(t, Config{Dial: d.Dial, Logger: slog.New(slog.NewTextHandler(&log, nil))},
		recordmark.Config{})
	var clients []rawClient
	for range 3 {
		s := dialRawClient(t, g.addr)
		for range lost + 2 {
			s.send(testCall(7, 1))
		}
		s.send(testCall(8, 1))
		clients = append(clients, s)
	}
	for range 10 {
		hang.Receive(t, "an attempt to connect", d.tried)
	}
	hang.Until(t, "all calls have come", func() bool { return g.Stats().Duplicates == 3*(lost+1) })
	d.up.Store(true)
	for i, s := range clients {
		got := map[string]bool{string(s.next()[:4]): true, string(s.next()[:4]): true}
		if !got["\x00\x00\x00\x07"] || !got["\x00\x00\x00\x08"] {
			t.Errorf("client %d got replies to %v", i, got)
		}
	}
	if n := len(gate.entered); n != 6 {
		t.Errorf("%d calls were executed, want 6", n)
	}
	for text, want := range map[string]int{
		"calls wait until that succeeds": 1, "connected to the server again": 1, "\n": 2} {
		if got := log.count(text); got != want {
			t.Errorf("%q was logged %d times, want %d:\n%s", text, got, want, log.text.String())
		}
	}
	if got := g.Stats(); got.DialFailures < 10 || got.Dials != 3 || got.Dropped != 0 {
		t.Errorf("stats %+v", got)
	}
}

// TestLateFailure: an attempt to connect that fails after a later one has succeeded is no news.
func TestLateFailure(t *testing.T) {
	var log lines
	gate := newGate()
	close(gate.open)
	server := overRDMA(t, gateServer(gate), rpcrdma.Config{})
	attempts := make(chan DialFunc, 2)
	dial := func(ctx context.Context) (oncrpc.Transport, error) {
		select {
		case d := <-attempts:
			return d(ctx)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	g := start(t, Config{Dial: dial, Logger: slog.New(slog.NewTextHandler(&log, nil))},
		recordmark.Config{})
	g.pause = time.Hour
	began, fail := make(chan struct{}), make(chan struct{})
	attempts <- func(context.Context) (oncrpc.Transport, error) {
		close(began)
		<-fail
		return nil, errors.New("no such server")
	}
	dialRawClient(t, g.addr).send(testCall(7, 1))
	hang.Receive(t, "the first attempt", began)
	attempts <- server
	s := dialRawClient(t, g.addr)
	s.send(testCall(8, 1))
	s.next()
	close(fail)
	hang.Until(t, "the first attempt has failed", func() bool { return g.Stats().DialFailures == 1 })
	if got := log.count("\n"); got > 0 {
		t.Errorf("%d lines were logged:\n%s", got, log.text.String())
	}
}

// TestUnreachableGoes: a client that disconnects while the server cannot be reached leaves nothing
// behind. One that stays is disconnected when patience ends.
func TestUnreachableGoes(t *testing.T) {
	d := newDown(nil)
	g := start(t, Config{Dial: d.Dial}, recordmark.Config{})
	g.pause = time.Hour
	s := dialRawClient(t, g.addr)
	s.send(testCall(7, 1))
	hang.Receive(t, "an attempt to connect", d.tried)
	s.Close()
	hang.Until(t, "the client's session has ended", func() bool { return g.Stats().Clients == 0 })

	impatient := start(t, Config{Dial: d.Dial}, recordmark.Config{})
	impatient.patience = 0
	s = dialRawClient(t, impatient.addr)
	s.send(testCall(7, 1))
	if got := s.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
}

// TestDrain: calls that wait for a server are dropped, and those that were passed on are answered.
func TestDrain(t *testing.T) {
	gate := newGate()
	d := newDown(nil)
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{}),
		Routes: map[uint32]Route{nfs3.Program: {Dial: d.Dial}}}, recordmark.Config{})
	g.pause = time.Hour
	waits, passed := dialRawClient(t, g.addr), dialRawClient(t, g.addr)
	waits.send(message(nfsCall(1, nfs3.ProcNull, oncrpc.Auth{}), nil))
	hang.Receive(t, "an attempt to connect", d.tried)
	passed.send(testCall(2, 1))
	gate.next(t)
	g.Drain()
	if got := waits.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
	down := make(chan error, 1)
	go func() { down <- g.server.Shutdown(context.Background()) }()
	hang.Until(t, "Shutdown has begun", g.server.Closed)
	close(gate.open)
	if got := passed.next(); len(got) != 28 {
		t.Errorf("got reply %x", got)
	}
	if err := hang.Receive(t, "the end of Shutdown", down); err != nil {
		t.Error(err)
	}
	if got := g.Stats(); got.Dropped != 1 || got.Replies != 1 {
		t.Errorf("stats %+v", got)
	}
}

// TestUnreachableMemory: calls that wait for one server take no memory from calls to another.
func TestUnreachableMemory(t *testing.T) {
	d := newDown(nil)
	most := cost(Config{}.MaxMessage())
	g := start(t, Config{Dial: overRDMA(t, nfsServer(t), rpcrdma.Config{}), Memory: most, ConnMemory: most,
		Routes: map[uint32]Route{testProgram: {Dial: d.Dial}}}, recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(7, 1))
	hang.Receive(t, "an attempt to connect", d.tried)
	data := pattern(100_000)
	c, _, h := file(t, dialTCP(t, g.addr), data)
	if r, err := c.Read(limited(t), h, 0, data); err != nil || r.N != len(data) {
		t.Errorf("read %d bytes, %v", r.N, err)
	}
	if got := g.Stats(); got.Waited != 0 || got.Clients != 2 {
		t.Errorf("stats %+v", got)
	}
}

// TestServerRestarts: the server goes away during a call, and comes back later. The client is
// disconnected once. On its new connection the same call waits for the server and is answered.
func TestServerRestarts(t *testing.T) {
	gate := newGate()
	rec := &recorder{dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})}
	d := newDown(rec.Dial)
	d.up.Store(true)
	g := start(t, Config{Dial: d.Dial}, recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 1))
	gate.next(t)
	d.up.Store(false)
	conn, _ := rec.last()
	conn.Close()
	if got := s.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
	again := dialRawClient(t, g.addr)
	again.send(testCall(1, 1))
	for range 3 {
		hang.Receive(t, "an attempt to connect", d.tried)
	}
	close(gate.open)
	d.up.Store(true)
	if got := again.next(); len(got) != 28 || !bytes.Equal(got[:4], []byte{0, 0, 0, 1}) {
		t.Errorf("got reply %x, want that to 1", got)
	}
}

// TestDialTimeout: an attempt to connect that takes too long ends, and is repeated.
func TestDialTimeout(t *testing.T) {
	dial := overRDMA(t, gateServer(newGate()), rpcrdma.Config{})
	ended := make(chan error, 1)
	var again atomic.Bool
	g := start(t, Config{DialTimeout: 50 * time.Millisecond, Dial: func(ctx context.Context) (oncrpc.Transport, error) {
		if again.Swap(true) {
			return dial(context.WithoutCancel(ctx)) // which may take longer on a busy machine
		}
		select {
		case <-ctx.Done():
			ended <- ctx.Err()
		case <-time.After(tooLong):
			ended <- errors.New("it did not end")
		}
		return nil, errors.New("took too long")
	}}, recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 0))
	if err := hang.Receive(t, "the end of an attempt to connect", ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first attempt ended with %v", err)
	}
	if got := s.next(); len(got) != 24 {
		t.Errorf("got reply %x", got)
	}
}
