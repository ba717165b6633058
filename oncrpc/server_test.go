package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// gate is a handler that records the order in which calls start, and lets them end one by one.
type gate struct {
	mu      sync.Mutex
	started []uint32
	now     int
	most    int
	open    chan struct{}
}

func newGate() *gate { return &gate{open: make(chan struct{})} }

func (g *gate) handle(_ context.Context, c *oncrpc.Call) error {
	n := c.Args.Uint32()
	g.mu.Lock()
	g.started = append(g.started, n)
	g.now++
	g.most = max(g.most, g.now)
	g.mu.Unlock()
	<-g.open
	g.mu.Lock()
	g.now--
	g.mu.Unlock()
	c.Results.Uint32(n)
	return nil
}

func (g *gate) order() []uint32 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.started)
}

// No more handlers run than allowed, and waiting calls start in the order of their arrival.
func TestMaxConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, calls = 3, 40
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: limit},
			oncrpc.Procedure{Handler: g.handle},
			oncrpc.Procedure{NonBlocking: true, Handler: func(context.Context, *oncrpc.Call) error { return nil }})
		var want []uint32
		var ins []*incoming
		arrive := func(n int) {
			for range n {
				i := uint32(len(ins))
				in := newIncoming(t, callBytes(i, 1, i))
				oncrpc.DispatcherOf(s).Dispatch(in)
				ins, want = append(ins, in), append(want, i)
				synctest.Wait() // so that the first ones start in order, too
			}
		}
		arrive(10)
		if got := g.order(); !slices.Equal(got, want[:limit]) {
			t.Errorf("started %v, want %v", got, want[:limit])
		}
		if n := s.Stats().InFlight; n != 10 {
			t.Errorf("%d in flight, want 10", n)
		}
		// Non-blocking handlers do not wait.
		if got := dispatch(t, s, callBytes(1000, 2)); len(got) != 24 {
			t.Errorf("non-blocking call answered with %x", got)
		}
		for i := limit; i < calls; i++ {
			if i == 8 {
				arrive(calls - 10) // after those that still wait
			}
			g.open <- struct{}{}
			synctest.Wait()
			if got := g.order(); !slices.Equal(got, want[:i+1]) {
				t.Fatalf("started %v, want %v", got, want[:i+1])
			}
		}
		close(g.open)
		for _, in := range ins {
			<-in.reply
		}
		if g.most != limit {
			t.Errorf("%d handlers at once, want %d", g.most, limit)
		}
		// Idle workers are reused.
		for i := range uint32(2 * limit) {
			dispatch(t, s, callBytes(i, 1, i))
		}
	})
}

// A free place goes to the host with the fewest running handlers, so a host with more calls than
// places does not delay another. Handlers that come back from waiting for their peers queue within
// their host.
func TestMaxConcurrentOfHosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, many = 4, 20
		var d [2]oncrpc.Dispatcher
		answer := make(chan struct{})
		var mu sync.Mutex
		var started []uint32
		ends := make(map[uint32]chan struct{})
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: limit},
			oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
				if c.XID == 3 { // a handler of the first host waits for its peer
					c.BeginWait()
					<-answer
					c.EndWait()
				}
				mu.Lock()
				started = append(started, c.XID)
				end := ends[c.XID]
				mu.Unlock()
				<-end
				return nil
			}})
		var ins []*incoming
		for i := range d {
			d[i] = oncrpc.DispatcherOf(s).For(&net.TCPAddr{IP: net.IPv4(192, 0, 2, byte(i)), Port: 700})
		}
		arrive := func(host int, n int) {
			for range n {
				xid := uint32(len(ins))
				ends[xid] = make(chan struct{})
				in := newIncoming(t, callBytes(xid, 1, xid))
				d[host].Dispatch(in)
				ins = append(ins, in)
				synctest.Wait()
			}
		}
		arrive(0, many)
		arrive(1, limit)
		close(answer)
		synctest.Wait()
		mu.Lock()
		first := slices.Clone(started)
		mu.Unlock()
		if want := []uint32{0, 1, 2, 4}; !slices.Equal(first, want) {
			t.Errorf("started %v, want %v: 3 waits for a place again", first, want)
		}
		// Whichever handler ends, the next is one of the host with fewer.
		for i, want := range []uint32{20, 21, 3, 5, 22, 23} {
			close(ends[first[i]])
			first = append(first, want)
			synctest.Wait()
			mu.Lock()
			got := started[len(started)-1]
			mu.Unlock()
			if got != want {
				t.Fatalf("started %d after %v, want %d", got, first[:len(first)-1], want)
			}
		}
		mu.Lock()
		for _, end := range ends {
			select {
			case <-end:
			default:
				close(end)
			}
		}
		mu.Unlock()
		for _, in := range ins {
			<-in.reply
		}
	})
}

// Handlers that wait for their peers give up their places, and continue when there is a place for
// them. If all peers answer at once, no more run than allowed. They continue in order, and before
// new calls start.
func TestMaxConcurrentAfterWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, calls = 3, 40
		var d oncrpc.Dispatcher
		g, answer := newGate(), make(chan struct{})
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: limit},
			oncrpc.Procedure{Handler: func(ctx context.Context, c *oncrpc.Call) error {
				if c.XID < calls {
					c.BeginWait()
					<-answer
					c.EndWait()
				}
				return g.handle(ctx, c)
			}})
		d = oncrpc.DispatcherOf(s)
		var want []uint32
		var ins []*incoming
		arrive := func() {
			i := uint32(len(ins))
			in := newIncoming(t, callBytes(i, 1, i))
			d.Dispatch(in)
			ins, want = append(ins, in), append(want, i)
			synctest.Wait()
		}
		for range calls + limit { // the last ones do not wait, and occupy all places
			arrive()
		}
		if got := g.order(); !slices.Equal(got, want[calls:]) {
			t.Errorf("started %v, want %v", got, want[calls:])
		}
		for range 2 {
			arrive() // these find no place
		}
		for range calls {
			answer <- struct{}{}
			synctest.Wait()
		}
		if n := len(g.order()); n != limit {
			t.Errorf("%d handlers have begun to run, want %d", n, limit)
		}
		for range calls + limit + 2 {
			g.open <- struct{}{}
			synctest.Wait()
		}
		if g.most != limit {
			t.Errorf("%d handlers at once, want %d", g.most, limit)
		}
		got := g.order()
		if last := got[len(got)-2:]; len(got) != len(want) || !slices.Equal(last, want[len(want)-2:]) {
			t.Errorf("started %v, want those that had not begun in the end", got)
		}
		for _, in := range ins {
			<-in.reply
		}
		for i := range uint32(2 * limit) {
			go func() { g.open <- struct{}{} }()
			dispatch(t, s, callBytes(calls+i, 1, i))
		}
	})
}

// Many goroutines call at once, and each call gets its own results once.
func TestConcurrentCalls(t *testing.T) {
	var now, most atomic.Int32
	add := func(_ context.Context, c *oncrpc.Call) error {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		c.Results.Uint32(c.Args.Uint32() + 1)
		now.Add(-1)
		return c.Args.Finish()
	}
	s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 4}, oncrpc.Procedure{Handler: add})
	near, far := connection(t)
	far.Serve(s)
	c := oncrpc.NewClient(near, testProgram, testVersion, mustAuthSys(oncrpc.SysCred{Machine: "m", GIDs: gids(16)}))
	var wg sync.WaitGroup
	for g := range uint32(32) {
		wg.Go(func() {
			for i := range uint32(100) {
				var got word
				if err := c.Call(context.Background(), 1, &word{g<<16 + i}, &got); err != nil || got.n != g<<16+i+1 {
					t.Errorf("got %d, %v", got.n, err)
				}
			}
		})
	}
	wg.Wait()
	if n := most.Load(); n > 4 {
		t.Errorf("%d handlers at once, want at most 4", n)
	}
	if got := s.Stats(); got != (oncrpc.ServerStats{Calls: 3200}) {
		t.Errorf("stats %+v", got)
	}
}

// Non-blocking handlers run before Dispatch returns, unless arguments have not arrived.
func TestNonBlocking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := false // unguarded: the race detector watches
		finish := make(chan struct{})
		s := newServer(t, oncrpc.ServerConfig{},
			oncrpc.Procedure{NonBlocking: true, Handler: func(context.Context, *oncrpc.Call) error {
				ran = true
				return nil
			}},
			oncrpc.Procedure{NonBlocking: true, Handler: func(context.Context, *oncrpc.Call) error {
				<-finish
				return nil
			}})
		in := newIncoming(t, callBytes(1, 1))
		oncrpc.DispatcherOf(s).Dispatch(in)
		if !ran || in.answers.Load() != 1 {
			t.Error("a non-blocking handler did not run on the dispatching goroutine")
		}
		in = newIncoming(t, callBytes(2, 2))
		in.notReady = true
		oncrpc.DispatcherOf(s).Dispatch(in) // would block for ever
		close(finish)
		<-in.reply
	})
}

// A handler calls the client on the connection of its call.
func TestBackwardCall(t *testing.T) {
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: func(ctx context.Context, c *oncrpc.Call) error {
		back := oncrpc.NewClient(c.Conn, testProgram, testVersion, oncrpc.AuthNone())
		n := word{c.Args.Uint32()}
		if err := back.Call(ctx, 1, &n, &n); err != nil {
			return err
		}
		c.Results.Uint32(n.n + 1)
		return nil
	}})
	clients := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(10 * c.Args.Uint32())
		return nil
	}})
	near, far := connection(t)
	near.Serve(clients)
	far.Serve(s)
	c := oncrpc.NewClient(near, testProgram, testVersion, oncrpc.AuthNone())
	var got word
	if err := c.Call(t.Context(), 1, &word{4}, &got); err != nil || got.n != 41 {
		t.Errorf("got %d, %v, want 41", got.n, err)
	}
}

// The context of a handler is that of the connection.
func TestHandlerContext(t *testing.T) {
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: func(ctx context.Context, c *oncrpc.Call) error {
		<-ctx.Done()
		return nil
	}})
	in := newIncoming(t, callBytes(1, 1))
	in.conn, _ = connection(t)
	oncrpc.DispatcherOf(s).Dispatch(in)
	in.conn.Close()
	<-in.reply
}

// Programs can be replaced while the server runs. The server uses its own copy of a program.
func TestReplace(t *testing.T) {
	s := newServer(t, oncrpc.ServerConfig{})
	program := func(answer uint32) oncrpc.Program {
		return oncrpc.Program{Number: testProgram, Version: testVersion, Procedures: []oncrpc.Procedure{
			{}, {NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
				c.Results.Uint32(answer)
				return nil
			}}}}
	}
	for i := range uint32(3) {
		p := program(i)
		if err := s.Handle(oncrpc.Program{Number: 99, Version: 1}, p); i == 0 && err == nil || !errors.Is(err, oncrpc.ErrAlreadyServed) {
			t.Errorf("Handle: got %v, want ErrAlreadyServed", err)
		}
		if got := dispatch(t, s, unhex(t, "01020304 00000000 00000002 00000063 00000001 00000000 00000000 00000000 00000000 00000000")); binary.BigEndian.Uint32(got[20:]) != uint32(oncrpc.ProgUnavail) {
			t.Errorf("of two programs the first was registered: %x", got)
		}
		s.Replace(p, oncrpc.Program{Number: testProgram, Version: 10 + i})
		clear(p.Procedures)
		want := unhex(t, accepted+"00000000 0000000"+string('0'+rune(i)))
		if got := dispatch(t, s, callBytes(0x01020304, 1)); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		if err := s.Handle(); err != nil {
			t.Error(err)
		}
	}
	one := oncrpc.Program{Number: 99, Version: 1}
	if err := s.Handle(one, one); !errors.Is(err, oncrpc.ErrAlreadyServed) {
		t.Errorf("Handle of the same twice: got %v, want ErrAlreadyServed", err)
	}
}

// allocsPerCall returns the allocations per call after a number of calls, because a server reuses a
// Call only after a while.
func allocsPerCall(call func()) float64 {
	for range 100 {
		call()
	}
	return testing.AllocsPerRun(200, call)
}

// Executing a call does not allocate.
func TestServerAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose things on purpose under the race detector")
	}
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
		c.Results.Uint32(c.Args.Uint32())
		return nil
	}})
	h := oncrpc.CallHeader{RPCVersion: 2, Program: testProgram, Version: testVersion, Procedure: 1,
		Cred: mustSys(oncrpc.SysCred{Machine: "m", GIDs: gids(16)})}
	call := append(encodeHeader(&h), 0, 0, 0, 1)
	in := &quietIncoming{incoming{t: t}}
	in.conn, _ = connection(t)
	if n := allocsPerCall(func() {
		in.args.Reset(call, nil)
		oncrpc.DispatcherOf(s).Dispatch(in)
	}); n > 0 {
		t.Errorf("%v allocations a call", n)
	}
}
