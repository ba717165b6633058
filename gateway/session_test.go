package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// testProgram is a program of the tests.
const testProgram = 0x20000003

// call is a call of it.
func testCall(xid, procedure uint32) []byte {
	return message(oncrpc.CallHeader{XID: xid, RPCVersion: oncrpc.Version, Program: testProgram, Version: 1, Procedure: procedure}, nil)
}

// gate is a procedure that waits until it is opened, or its connection ends.
type gate struct {
	entered chan uint32 // transaction ids
	open    chan struct{}
}

func newGate() *gate { return &gate{make(chan uint32, 100), make(chan struct{})} }

// next returns the transaction id of the next call.
func (g *gate) next(t *testing.T) uint32 {
	t.Helper()
	return await(t, "a call to reach the server", g.entered)
}

func (g *gate) handle(ctx context.Context, c *oncrpc.Call) error {
	g.entered <- c.XID
	select {
	case <-g.open:
		c.Results.Uint32(c.XID)
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gateServer returns a server whose procedure 1 waits, and whose procedure 2 returns a number of
// bytes.
func gateServer(g *gate) *oncrpc.Server {
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	srv.Handle(oncrpc.Program{Name: "test", Number: testProgram, Version: 1, Procedures: []oncrpc.Procedure{
		1: {Name: "WAIT", Handler: g.handle},
		2: {Name: "GIVE", Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Opaque(make([]byte, c.Args.Uint32()), 1<<30)
			return nil
		}},
	}})
	return srv
}

// granted returns a connection to a gateway whose connection to the server has had a reply: before
// that there is one credit.
func granted(t *testing.T, g *servedGateway) rawClient {
	t.Helper()
	s := dialRawClient(t, g.addr)
	s.send(testCall(1000, 0))
	if got := s.next(); len(got) != 24 {
		t.Fatalf("got reply %x", got)
	}
	return s
}

// Replies come in the order in which the server gives them, and a call that comes again meanwhile
// is dropped.
func TestDuplicate(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := granted(t, g)
	for _, xid := range []uint32{7, 0} {
		s.send(testCall(xid, 1))
		gate.next(t)
	}
	s.send(testCall(7, 1))
	s.send(testCall(0, 1))
	s.send(testCall(8, 0))
	if got := s.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 8}) {
		t.Errorf("got reply %x, want that to 8", got)
	}
	close(gate.open)
	got := map[string]bool{string(s.next()[:4]): true, string(s.next()[:4]): true}
	if !got["\x00\x00\x00\x00"] || !got["\x00\x00\x00\x07"] {
		t.Errorf("got replies to %v", got)
	}
	if len(gate.entered) != 0 {
		t.Errorf("%d calls were executed twice", len(gate.entered))
	}
	// When they have been answered, they may be called again.
	s.send(testCall(7, 0))
	if got := s.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 7}) {
		t.Errorf("got reply %x, want that to 7", got)
	}
	if got := g.Stats(); got.Duplicates != 2 || got.Calls != 5 || got.Replies != 5 {
		t.Errorf("stats %+v", got)
	}
}

// A call that comes for the third time has been lost, by a server that drops calls: the client is
// disconnected, and calls over a new connection.
func TestLostCall(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := granted(t, g)
	s.send(testCall(7, 1))
	gate.next(t)
	for range lost - 1 {
		s.send(testCall(7, 1))
	}
	if got := s.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
	again := granted(t, g)
	again.send(testCall(7, 1))
	gate.next(t)
	close(gate.open)
	if got := again.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 7}) {
		t.Errorf("got reply %x, want that to 7", got)
	}
	if got := g.Stats(); got.Duplicates != lost-1 || got.Dials != 2 {
		t.Errorf("stats %+v", got)
	}
}

// An id that the transport has chosen for a call with id 0 may be that of a later call.
func TestChosenXIDInUse(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := granted(t, g)
	s.send(testCall(0, 1))
	chosen := gate.next(t)
	s.send(testCall(chosen, 0))
	want := message(oncrpc.CallHeader{XID: chosen}, nil)[:4]
	if got := s.next(); !bytes.Equal(got[:4], want) || len(got) != 24 {
		t.Errorf("got reply %x, want that to %x", got, want)
	}
	close(gate.open)
	if got := s.next(); !bytes.Equal(got[:4], make([]byte, 4)) {
		t.Errorf("got reply %x, want that to 0", got)
	}
}

// A client that has lost its connection calls again, and gets the reply to its first call: it is
// not executed twice.
func TestRetransmission(t *testing.T) {
	srv := nfsServer(t)
	g := start(t, Config{Dial: overRDMA(t, srv, rpcrdma.Config{})}, recordmark.Config{})
	_, root, _ := file(t, dialTCP(t, g.addr), nil)
	p := message(nfsCall(99, nfs3.ProcMkdir, rootCred(t)),
		&nfs3.MkdirArgs{Where: nfs3.DirOp{Dir: root, Name: "made"}})
	var replies [2][]byte
	for i := range replies {
		s := dialRawClient(t, g.addr)
		s.send(p)
		replies[i] = s.next()
		s.Close()
	}
	if !bytes.Equal(replies[0], replies[1]) {
		t.Errorf("got %x\nwant %x", cut(replies[1]), cut(replies[0]))
	}
	if got := srv.Stats().Replayed; got != 1 {
		t.Errorf("%d calls were answered from the cache, want 1", got)
	}
}

// When the client goes, so does its connection to the server, in the middle of a call.
func TestClientGoes(t *testing.T) {
	gate := newGate()
	var conns [2]oncrpc.Transport
	dial := overRDMA(t, gateServer(gate), rpcrdma.Config{})
	n := 0
	g := start(t, Config{Dial: func(ctx context.Context) (conn oncrpc.Transport, err error) {
		conns[n], err = dial(ctx)
		n++
		return conns[n-1], err
	}}, recordmark.Config{})
	leaves, stays := dialRawClient(t, g.addr), dialRawClient(t, g.addr)
	for i, s := range []rawClient{leaves, stays} {
		s.send(testCall(uint32(i+1), 1))
		gate.next(t)
	}
	leaves.Close()
	await(t, "the end of the first connection to the server", conns[0].Done())
	close(gate.open)
	if got := stays.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 2}) {
		t.Errorf("got reply %x, want that to 2", got)
	}
	stays.Close()
	await(t, "the end of the second connection to the server", conns[1].Done())
}

// When the server goes, so do its clients, which connect again.
func TestServerGoes(t *testing.T) {
	gate := newGate()
	rec := &recorder{dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})}
	g := start(t, Config{Dial: rec.Dial}, recordmark.Config{})
	for range 2 {
		s := dialRawClient(t, g.addr)
		s.send(testCall(1, 1))
		gate.next(t)
		conn, _ := rec.last()
		conn.Close()
		if got := s.next(); got != nil {
			t.Errorf("got reply %x", got)
		}
	}
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 0))
	if got := s.next(); len(got) != 24 {
		t.Errorf("got reply %x", got)
	}
	if got := g.Stats(); got.Dials != 3 || got.Replies != 1 {
		t.Errorf("stats %+v", got)
	}
}

// lines counts what is logged.
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

// TestUnreachable: while the server cannot be reached the calls of its clients wait, however often
// they come, and are answered when it can. That is logged once.
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
		await(t, "an attempt to connect", d.tried)
	}
	until(t, "all calls have come", func() bool { return g.Stats().Duplicates == 3*(lost+1) })
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

// TestUnreachableGoes: a client that goes while the server cannot be reached leaves nothing behind,
// and one that stays is disconnected when it has been waited for long enough.
func TestUnreachableGoes(t *testing.T) {
	d := newDown(nil)
	g := start(t, Config{Dial: d.Dial}, recordmark.Config{})
	g.pause = time.Hour
	s := dialRawClient(t, g.addr)
	s.send(testCall(7, 1))
	await(t, "an attempt to connect", d.tried)
	s.Close()
	until(t, "the client's session has ended", func() bool { return g.Stats().Clients == 0 })

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
	await(t, "an attempt to connect", d.tried)
	passed.send(testCall(2, 1))
	gate.next(t)
	g.Drain()
	if got := waits.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
	down := make(chan error, 1)
	go func() { down <- g.server.Shutdown(context.Background()) }()
	until(t, "Shutdown has begun", g.server.Closed)
	close(gate.open)
	if got := passed.next(); len(got) != 28 {
		t.Errorf("got reply %x", got)
	}
	if err := await(t, "the end of Shutdown", down); err != nil {
		t.Error(err)
	}
	if got := g.Stats(); got.Dropped != 1 || got.Replies != 1 {
		t.Errorf("stats %+v", got)
	}
}

// TestUnreachableMemory: calls that wait for one server take no memory from those to another.
func TestUnreachableMemory(t *testing.T) {
	d := newDown(nil)
	most := cost(Config{}.MaxMessage())
	g := start(t, Config{Dial: overRDMA(t, nfsServer(t), rpcrdma.Config{}), Memory: most, ConnMemory: most,
		Routes: map[uint32]Route{testProgram: {Dial: d.Dial}}}, recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(7, 1))
	await(t, "an attempt to connect", d.tried)
	data := pattern(100_000)
	c, _, h := file(t, dialTCP(t, g.addr), data)
	if r, err := c.Read(limited(t), h, 0, data); err != nil || r.N != len(data) {
		t.Errorf("read %d bytes, %v", r.N, err)
	}
	if got := g.Stats(); got.Waited != 0 || got.Clients != 2 {
		t.Errorf("stats %+v", got)
	}
}

// TestServerRestarts: the server goes in the middle of a call, and is not there for a while. The
// client is disconnected once; on the new connection the same call waits for the server, and is
// answered.
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
		await(t, "an attempt to connect", d.tried)
	}
	close(gate.open)
	d.up.Store(true)
	if got := again.next(); len(got) != 28 || !bytes.Equal(got[:4], []byte{0, 0, 0, 1}) {
		t.Errorf("got reply %x, want that to 1", got)
	}
}

// TestDialTimeout: an attempt to connect that takes too long ends, and there is another.
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
	if err := await(t, "the end of an attempt to connect", ended); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the first attempt ended with %v", err)
	}
	if got := s.next(); len(got) != 24 {
		t.Errorf("got reply %x", got)
	}
}

// MOUNT goes elsewhere: always, or when the server has not got it.
func TestRoutes(t *testing.T) {
	nfs := nfsServer(t)
	whole := overRDMA(t, nfs, rpcrdma.Config{})
	without := overRDMA(t, oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet}), rpcrdma.Config{})
	mounts := overTCP(t, nfs, recordmark.Config{})
	dialMounts := func(ctx context.Context) (oncrpc.Transport, error) {
		return recordmark.Dial(ctx, mounts, recordmark.Config{EnforceMaxReply: true, Logger: quiet})
	}
	for _, tt := range []struct {
		name        string
		server      DialFunc
		unavailable bool
		want        []bool // that each of the calls went to the server first
	}{
		{"always", whole, false, []bool{false, false}},
		{"the server has it", whole, true, []bool{true, true}},
		{"the server has not got it", without, true, []bool{true, false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rec := &recorder{dial: tt.server}
			g := start(t, Config{Dial: rec.Dial, Routes: map[uint32]Route{mount3.Program: {dialMounts, tt.unavailable}}}, recordmark.Config{})
			for i, want := range tt.want {
				conn := dialTCP(t, g.addr)
				_, before := rec.last()
				exports, err := nfsclient.Exports(limited(t), conn, rootFlavor(t))
				if err != nil || len(exports) != 1 || exports[0].Path != "/" {
					t.Errorf("call %d: got exports %v, %v", i, exports, err)
				}
				_, after := rec.last()
				if got := len(after) > len(before); got != want {
					t.Errorf("call %d: went to the server %v, want %v", i, got, want)
				}
			}
		})
	}
}

// A call whose reply is longer than there is room for, or that is too long itself, is answered with
// SYSTEM_ERR, and others go on.
func TestTooLong(t *testing.T) {
	var log lines
	dial := overRDMA(t, gateServer(newGate()), rpcrdma.Config{MaxMessage: 128 << 10})
	g := start(t, Config{Dial: dial, MaxReply: 8 << 10, Logger: slog.New(slog.NewTextHandler(&log, nil))}, recordmark.Config{})
	c := oncrpc.NewClient(dialTCP(t, g.addr), testProgram, 1, oncrpc.AuthNone())
	give := func(n uint32, args ...uint32) error {
		res := given(n)
		return c.Call(limited(t), 2, append(words{n}, args...), &res)
	}
	if err := give(8 << 10); err != nil {
		t.Error(err)
	}
	for range 3 {
		var accept *oncrpc.AcceptError
		if err := give(20 << 10); !errors.As(err, &accept) || accept.Stat != oncrpc.SystemErr {
			t.Errorf("reply of 20 KiB: got %v", err)
		}
		if err := give(1, make([]uint32, 40<<10)...); !errors.As(err, &accept) || accept.Stat != oncrpc.SystemErr {
			t.Errorf("call of 160 KiB: got %v", err)
		}
	}
	if err := give(3); err != nil {
		t.Error(err)
	}
	if got := log.count("\n"); got != 1 {
		t.Errorf("%d lines were logged, want 1", got)
	}
}

// given are results of so many bytes.
type given uint32

func (n *given) ReplyRoom(results [][]byte) (int, [][]byte) {
	return 4 + xdr.RoundUp(int(*n)), results
}

func (n *given) UnmarshalXDR(d *xdr.Decoder) {
	if got := len(d.Opaque(1 << 30)); got != int(*n) {
		d.Fail(fmt.Errorf("%d bytes", got))
	}
}

// Shutdown lets calls be answered, and Close ends what is left.
func TestShutdown(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 1))
	gate.next(t)
	down := make(chan error)
	go func() { down <- g.server.Shutdown(context.Background()) }()
	until(t, "Shutdown has begun", g.server.Closed)
	if got := g.server.Stats(); got.InFlight != 1 || got.Forwarded != 1 {
		t.Errorf("stats %+v", got)
	}
	close(gate.open)
	if got := s.next(); len(got) != 28 {
		t.Errorf("got reply %x", got)
	}
	if got := s.next(); got != nil {
		t.Errorf("got another reply %x", got)
	}
	s.Close()
	if err := await(t, "the end of Shutdown", down); err != nil {
		t.Error(err)
	}
	g.Close()
	if got := g.Stats(); got.Replies != 1 || got.Clients != 0 {
		t.Errorf("stats %+v", got)
	}
}

// Close ends calls under way.
func TestClose(t *testing.T) {
	gate := newGate()
	g := start(t, Config{Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{})},
		recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 1))
	gate.next(t)
	g.Close()
	if got := s.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
	if got := g.Stats(); got.Dropped != 1 {
		t.Errorf("stats %+v", got)
	}
	// One that comes too late is dropped.
	late := dialRawClient(t, g.addr)
	late.send(testCall(1, 1))
	g.server.Close()
	if got := late.next(); got != nil {
		t.Errorf("got reply %x", got)
	}
}

// Calls wait for memory, of the connection and of all, and none is lost.
func TestMemory(t *testing.T) {
	gate := newGate()
	most := cost(Config{MaxReply: 64 << 10}.MaxMessage())
	g := start(t, Config{
		Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{}), MaxReply: 64 << 10, ConnMemory: 2 * most, Memory: 3 * most,
	}, recordmark.Config{MaxInFlight: 4})
	var streams []rawClient
	const calls = 10 // on each; more than are read
	for i := range 2 {
		s := granted(t, g)
		streams = append(streams, s)
		for xid := range uint32(calls) {
			s.send(testCall(xid, 1))
		}
		for range 2 - i { // what there is memory for: of the connection, of all
			gate.next(t)
		}
	}
	if got := len(gate.entered); got != 0 {
		t.Errorf("%d calls are under way, want 3", 3+got)
	}
	close(gate.open)
	for _, s := range streams {
		seen := make(map[string]bool)
		for range calls {
			seen[string(s.next()[:4])] = true
		}
		if len(seen) != calls {
			t.Errorf("got replies to %d calls, want %d", len(seen), calls)
		}
	}
	g.returned(t, 3*most)
	if got := g.Stats(); got.Waited == 0 {
		t.Errorf("stats %+v", got)
	}
}

// returned waits until all memory has been given back.
func (g *servedGateway) returned(t *testing.T, all int64) {
	t.Helper()
	until(t, "all memory is given back", func() bool { return g.memory.TryAcquire(all) })
	g.memory.Release(all)
}

// Clients that go in the middle of READs and WRITEs leave nothing behind, and do no harm to others.
func TestGoesInTheMiddle(t *testing.T) {
	g := start(t, Config{Dial: overRDMA(t, nfsServer(t), rpcrdma.Config{}), Memory: 64 << 20, ConnMemory: 4 << 20}, recordmark.Config{})
	data := pattern(1 << 20)
	c, _, h := file(t, dialTCP(t, g.addr), data)
	sys := rootCred(t)
	read := &nfs3.ReadArgs{File: h, Count: uint32(len(data))}
	write := &nfs3.WriteArgs{File: h, Count: uint32(len(data)), Data: [][]byte{data}}
	for i := range 30 {
		s := dialRawClient(t, g.addr)
		for xid := range uint32(8) {
			s.send(message(nfsCall(xid, nfs3.ProcRead, sys), read))
		}
		s.send(message(nfsCall(8, nfs3.ProcWrite, sys), write))
		for range i % 4 { // at various times
			if s.next() == nil {
				t.Error("a connection has ended")
			}
		}
		s.Close()
	}
	got := make([]byte, len(data))
	if r, err := c.Read(limited(t), h, 0, got); err != nil || r.N != len(data) || !bytes.Equal(got, data) {
		t.Errorf("got %d bytes, %v", r.N, err)
	}
	g.returned(t, 64<<20)
}

// A client that goes while its calls wait for memory is not waited for.
func TestGoesWaiting(t *testing.T) {
	gate := newGate()
	const most = 128 << 10 // for one call
	g := start(t, Config{
		Dial: overRDMA(t, gateServer(gate), rpcrdma.Config{}), MaxReply: 64 << 10, ConnMemory: most, Memory: most,
	}, recordmark.Config{})
	s := dialRawClient(t, g.addr)
	s.send(testCall(1, 1))
	gate.next(t)
	waits := dialRawClient(t, g.addr)
	waits.send(testCall(2, 1))
	until(t, "a call waits for memory", func() bool { return g.Stats().Waited > 0 })
	waits.Close()
	until(t, "the call that waits is dropped", func() bool { return g.Stats().Dropped > 0 })
	close(gate.open)
	if got := s.next(); !bytes.Equal(got[:4], []byte{0, 0, 0, 1}) {
		t.Errorf("got reply %x, want that to 1", got)
	}
}

// What a client sends that is not RPC ends its connection, or is ignored, and hurts nobody else.
func TestHostile(t *testing.T) {
	srv := nfsServer(t)
	g := start(t, Config{Dial: overRDMA(t, srv, rpcrdma.Config{})},
		recordmark.Config{MaxRecord: 1 << 20})
	null := message(nfsCall(5, nfs3.ProcNull, oncrpc.Auth{}), nil)
	lives := func(t *testing.T, s rawClient) {
		t.Helper()
		s.send(null)
		if got := s.next(); len(got) != 24 {
			t.Errorf("got reply %x", got)
		}
	}
	for _, tt := range []struct {
		name string
		send func(rawClient)
		ends bool
	}{
		{"nothing", func(rawClient) {}, false},
		{"an empty record", func(s rawClient) { s.send(nil) }, false},
		{"a word", func(s rawClient) { s.send([]byte("word")) }, false},
		{"a reply", func(s rawClient) { s.send(append([]byte{0, 0, 0, 9, 0, 0, 0, 1}, make([]byte, 100)...)) }, false},
		{"neither call nor reply", func(s rawClient) { s.send([]byte{0, 0, 0, 9, 0, 0, 0, 2}) }, false},
		{"a record of 2 GiB", func(s rawClient) { s.Write([]byte{0xff, 0xff, 0xff, 0xff}) }, true},
		{"empty fragments without end", func(s rawClient) { s.Write(make([]byte, 8<<10)) }, true},
		{"MPA", func(s rawClient) { s.Write([]byte("MPA ID Req Frame")) }, true},
		{"the end, within a record", func(s rawClient) {
			s.Write([]byte{0x80, 0, 1, 0, 1, 2, 3})
			s.Conn.(*net.TCPConn).CloseWrite()
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := dialRawClient(t, g.addr)
			tt.send(s)
			if tt.ends {
				if got := s.next(); got != nil {
					t.Errorf("got reply %x", got)
				}
				s = dialRawClient(t, g.addr)
			}
			lives(t, s)
		})
	}
}
