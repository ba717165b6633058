package oncrpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// counter is a handler that must run once for each call: its result is how often it has.
type counter struct{ atomic.Uint32 }

func (n *counter) handle(_ context.Context, c *oncrpc.Call) error {
	c.Results.Uint32(n.Add(1))
	return nil
}

// callFrom returns a call of a peer at the named address.
func callFrom(t testing.TB, peer string, call []byte) *incoming {
	in := newIncoming(t, call)
	far, near := connection(t)
	far.name = addr(peer)
	in.conn = near
	return in
}

// dispatchFrom has a call of a peer executed and returns the reply.
func dispatchFrom(t testing.TB, s *oncrpc.Server, peer string, call []byte) []byte {
	in := callFrom(t, peer, call)
	s.Dispatch(in)
	return <-in.reply
}

const (
	peerA = "192.0.2.1:700"
	peerB = "192.0.2.1:701" // the same host
	peerC = "192.0.2.2:700"
)

// What is another call, and what is the same one again.
func TestOnce(t *testing.T) {
	header := func(change func(*oncrpc.CallHeader)) []byte {
		h := oncrpc.CallHeader{XID: 7, RPCVersion: 2, Program: testProgram, Version: testVersion, Procedure: 1,
			Cred: mustSys(oncrpc.SysCred{Machine: "m", UID: 1})}
		change(&h)
		return append(encodeHeader(&h), 0, 0, 0, 1)
	}
	first := header(func(*oncrpc.CallHeader) {})
	tests := []struct {
		name        string
		peer, peer2 string
		call        []byte
		same        bool
	}{
		{"again", peerA, peerA, first, true},
		{"from another port", peerA, peerB, first, true},
		{"from another host", peerA, peerC, first, false},
		{"IPv6, from another port", "[2001:db8::1]:1", "[2001:db8::1]:2", first, true},
		{"IPv6, from another host", "[2001:db8::1]:1", "[2001:db8::2]:1", first, false},
		{"IPv4 in IPv6", peerA, "[::ffff:192.0.2.1]:9", first, true},
		{"without IP", "pipe 1", "pipe 1", first, true},
		{"from elsewhere without IP", "pipe 1", "pipe 2", first, false},
		{"transaction id", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.XID++ }), false},
		{"program", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Program++ }), false},
		{"version", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Version++ }), false},
		{"procedure", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Procedure++ }), false},
		{"stamp", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Cred = mustSys(oncrpc.SysCred{Stamp: 9, Machine: "m", UID: 1}) }), true},
		{"user", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Cred = mustSys(oncrpc.SysCred{Machine: "m", UID: 2}) }), false},
		{"flavour", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Cred = oncrpc.AuthNone() }), false},
		{"verifier", peerA, peerB, header(func(h *oncrpc.CallHeader) { h.Verf.Flavor = oncrpc.FlavorGSS }), false},
		{"arguments", peerA, peerB, append(bytes.Clone(first[:len(first)-1]), 2), false},
		{"more arguments", peerA, peerB, append(bytes.Clone(first), 0, 0, 0, 0), false},
	}
	for _, tt := range tests {
		for _, nonBlocking := range []bool{true, false} {
			var n counter
			p := oncrpc.Procedure{Handler: n.handle, NonBlocking: nonBlocking, Once: true}
			s := newServer(t, oncrpc.ServerConfig{}, p, p)
			for _, of := range [][2]uint32{{testProgram, testVersion + 1}, {testProgram + 1, testVersion}} {
				s.Handle(oncrpc.Program{Number: of[0], Version: of[1], Procedures: []oncrpc.Procedure{{}, p}})
			}
			want := dispatchFrom(t, s, tt.peer, first)
			got := dispatchFrom(t, s, tt.peer2, tt.call)
			if same := bytes.Equal(got, want); same != tt.same {
				t.Errorf("%s: got %x, the first call %x", tt.name, got, want)
			}
			wantStats := oncrpc.ServerStats{Calls: 2}
			wantCount := uint32(2)
			if tt.same {
				wantStats.Replayed, wantCount = 1, 1
			}
			if got := s.Stats(); got != wantStats || n.Load() != wantCount {
				t.Errorf("%s: stats %+v, %d executions; want %+v, %d", tt.name, got, n.Load(), wantStats, wantCount)
			}
		}
	}
}

// A call that is answered from the cache is answered before Dispatch returns. A procedure that is not to be executed once is executed as
// often as it is called, and without a cache all are.
func TestNotOnce(t *testing.T) {
	tests := []struct {
		name  string
		cache int
		once  bool
		want  uint32
	}{
		{"kept", 0, true, 1},
		{"not asked for", 0, false, 3},
		{"no cache", -1, true, 3},
	}
	for _, tt := range tests {
		var n counter
		s := newServer(t, oncrpc.ServerConfig{ReplyCache: tt.cache}, oncrpc.Procedure{Handler: n.handle, Once: tt.once})
		for i := range 3 {
			in := callFrom(t, peerA, callBytes(1, 1))
			s.Dispatch(in)
			if i > 0 && tt.want == 1 && in.answers.Load() != 1 {
				t.Errorf("%s: not answered at once", tt.name)
			}
			<-in.reply
		}
		if got := n.Load(); got != tt.want {
			t.Errorf("%s: %d executions, want %d", tt.name, got, tt.want)
		}
	}
}

// While a call is executed the same one comes again, and again: the first and the last get the reply, and so does one that comes
// later.
func TestOnceUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 1}, oncrpc.Procedure{Handler: g.handle, Once: true})
		call := callBytes(0x01020304, 1, 5)
		var ins []*incoming
		for _, peer := range []string{peerA, peerB, peerA, peerB} {
			in := callFrom(t, peer, call)
			s.Dispatch(in)
			ins = append(ins, in)
		}
		for _, in := range ins[1:3] {
			if got := <-in.reply; got != nil {
				t.Errorf("got reply %x, want a drop", got)
			}
		}
		synctest.Wait()
		if got, want := s.Stats(), (oncrpc.ServerStats{Calls: 4, Dropped: 2, InFlight: 2}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		close(g.open)
		want := unhex(t, accepted+"00000000 00000005")
		for _, in := range []*incoming{ins[0], ins[3]} {
			if got := <-in.reply; !bytes.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		}
		if got := dispatchFrom(t, s, peerA, call); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
		synctest.Wait()
		if got, want := s.Stats(), (oncrpc.ServerStats{Calls: 5, Dropped: 2, Replayed: 2}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		if got := g.order(); len(got) != 1 {
			t.Errorf("%d executions, want 1", len(got))
		}
	})
}

// An error is not kept: the same call is executed when it comes again, even if it came while the first one was executed.
func TestOnceErrors(t *testing.T) {
	tests := []struct {
		name string
		fail func(*oncrpc.Call) error
	}{
		{"GARBAGE_ARGS", func(*oncrpc.Call) error { return oncrpc.ErrGarbageArgs }},
		{"arguments missing", func(c *oncrpc.Call) error { c.Args.Uint64(); return nil }},
		{"SYSTEM_ERR", func(*oncrpc.Call) error { return errors.New("disk on fire") }},
		{"denied", func(*oncrpc.Call) error { return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak} }},
		{"results that cannot be encoded", func(c *oncrpc.Call) error { c.Results.Fail(xdr.ErrLimit); return nil }},
		{"panic", func(*oncrpc.Call) error { panic("disk on fire") }},
		{"goexit", func(*oncrpc.Call) error { runtime.Goexit(); return nil }},
	}
	for _, tt := range tests {
		for _, waits := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				var n counter
				open := make(chan struct{})
				handle := func(ctx context.Context, c *oncrpc.Call) error {
					if n.Load() == 0 {
						<-open
						n.Add(1)
						return tt.fail(c)
					}
					return n.handle(ctx, c)
				}
				s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 1}, oncrpc.Procedure{Handler: handle, Once: true})
				call := callBytes(0x01020304, 1, 5)
				first, second := callFrom(t, peerA, call), callFrom(t, peerB, call)
				s.Dispatch(first)
				if waits {
					s.Dispatch(second)
				}
				close(open)
				failure := <-first.reply
				if !waits {
					s.Dispatch(second)
				}
				want := unhex(t, accepted+"00000000 00000002")
				if bytes.Equal(failure, want) {
					t.Errorf("%s: the first call was answered with %x", tt.name, failure)
				}
				for range 2 {
					if got := <-second.reply; !bytes.Equal(got, want) {
						t.Errorf("%s: got %x, want %x", tt.name, got, want)
					}
					second = callFrom(t, peerA, call)
					s.Dispatch(second) // which is answered from the cache now
				}
				<-second.reply
				if n.Load() != 2 || s.Stats().Replayed != 2 {
					t.Errorf("%s: %d executions, stats %+v", tt.name, n.Load(), s.Stats())
				}
			})
		}
	}
}

// That a program denied a call is not kept, either.
func TestOnceAuthorize(t *testing.T) {
	var n counter
	deny := true
	s := newServer(t, oncrpc.ServerConfig{})
	s.Handle(oncrpc.Program{Number: testProgram, Version: testVersion,
		Procedures: []oncrpc.Procedure{{}, {Handler: n.handle, NonBlocking: true, Once: true}},
		Authorize: func(*oncrpc.Call) error {
			if deny {
				return &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
			}
			return nil
		}})
	call := callBytes(0x01020304, 1)
	dispatchFrom(t, s, peerA, call)
	deny = false
	if got, want := dispatchFrom(t, s, peerA, call), unhex(t, accepted+"00000000 00000001"); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// chunkSource is a peer that does not bring a chunk before its connection ends.
type chunkSource struct{ started chan struct{} }

func (c *chunkSource) Fetch(ctx context.Context, _, _ int, _ [][]byte) error {
	close(c.started)
	<-ctx.Done()
	return ctx.Err()
}

func (c *chunkSource) Load(ctx context.Context, id, n int, _ bool) ([]byte, xdr.Releaser, error) {
	return nil, nil, c.Fetch(ctx, id, n, nil)
}

// A call whose connection ends while its arguments are fetched has not been executed. The same one, over another connection, is.
func TestOnceConnectionLost(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var n counter
			handle := func(ctx context.Context, c *oncrpc.Call) error {
				if _, err := c.Args.Bulk(100).Bytes(ctx); err != nil {
					return err
				}
				return n.handle(ctx, c)
			}
			s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: handle, Once: true})
			call := callBytes(0x01020304, 1, 4)
			chunk := xdr.Chunk{Position: len(call), Len: 4}
			lost, again := callFrom(t, peerA, call), callFrom(t, peerB, call)
			source := &chunkSource{make(chan struct{})}
			chunk.Source = source
			lost.args.Reset(call, []xdr.Chunk{chunk})
			chunk.Source, chunk.Data = nil, []byte("path")
			again.args.Reset(call, []xdr.Chunk{chunk})
			s.Dispatch(lost)
			<-source.started
			if waits {
				s.Dispatch(again)
			}
			lost.conn.Close()
			<-lost.reply
			if !waits {
				s.Dispatch(again)
			}
			if got, want := <-again.reply, unhex(t, accepted+"00000000 00000001"); !bytes.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}

// A chunk before other arguments hides them, so nothing is known to be the same.
func TestOnceChunkBetween(t *testing.T) {
	var n counter
	handle := func(ctx context.Context, c *oncrpc.Call) error {
		c.Args.Bulk(100)
		c.Args.Uint32()
		return n.handle(ctx, c)
	}
	s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: handle, Once: true})
	for want := range uint32(2) {
		in := callFrom(t, peerA, nil)
		call := callBytes(1, 1, 4, 1)
		in.args.Reset(call, []xdr.Chunk{{Position: len(call) - 4, Len: 4, Data: []byte("path")}})
		s.Dispatch(in)
		if got := binary.BigEndian.Uint32((<-in.reply)[24:]); got != want+1 {
			t.Errorf("got %d, want %d", got, want+1)
		}
	}
}

// Replies that are not kept: the call that waits gets a copy of a long one; bulk data it cannot have.
func TestOnceNotKept(t *testing.T) {
	tests := []struct {
		name string
		give func(*xdr.Encoder)
		kept bool
		drop bool
	}{
		{"of 4096 bytes", func(e *xdr.Encoder) { e.Fixed(make([]byte, 4096-24)) }, true, false},
		{"of 4100 bytes", func(e *xdr.Encoder) { e.Fixed(make([]byte, 4100-24)) }, false, false},
		{"with bulk data", func(e *xdr.Encoder) { e.BulkBytes(make([]byte, 8), nil) }, false, true},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			var n counter
			open := make(chan struct{})
			s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Once: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
				<-open
				n.Add(1)
				tt.give(c.Results)
				return nil
			}})
			first, waiter := callFrom(t, peerA, callBytes(1, 1)), callFrom(t, peerB, callBytes(1, 1))
			s.Dispatch(first)
			s.Dispatch(waiter)
			close(open)
			want := <-first.reply
			got := <-waiter.reply
			if tt.drop != (got == nil) || got != nil && !bytes.Equal(got, want) {
				t.Errorf("%s: got %d bytes, the first call %d, drop %v", tt.name, len(got), len(want), tt.drop)
			}
			dispatchFrom(t, s, peerA, callBytes(1, 1))
			if kept := n.Load() == 1; kept != tt.kept {
				t.Errorf("%s: %d executions, kept %v", tt.name, n.Load(), tt.kept)
			}
			synctest.Wait()
			if got := s.Stats().InFlight; got != 0 {
				t.Errorf("%s: %d in flight", tt.name, got)
			}
		})
	}
}

// The oldest replies go first; calls under way stay.
func TestOnceEviction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{ReplyCache: 3},
			oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true},
			oncrpc.Procedure{Handler: g.handle, Once: true})
		underWay := callFrom(t, peerA, callBytes(100, 2, 1))
		s.Dispatch(underWay)
		synctest.Wait()
		for _, step := range []struct{ xid, want uint32 }{
			{1, 1}, {2, 2}, {3, 3},
			{1, 1}, {2, 2}, {3, 3}, // all kept
			{4, 4},
			{2, 2}, {3, 3}, {4, 4}, // 1 has gone
			{1, 5}, // and 2 now, though used last
			{3, 3}, {4, 4}, {1, 5}, {2, 6},
		} {
			if got := binary.BigEndian.Uint32(dispatchFrom(t, s, peerA, callBytes(step.xid, 1))[24:]); got != step.want {
				t.Errorf("call %d: got %d, want %d", step.xid, got, step.want)
			}
		}
		again := callFrom(t, peerA, callBytes(100, 2, 1))
		s.Dispatch(again)
		close(g.open)
		<-underWay.reply
		<-again.reply
		if got := g.order(); len(got) != 1 {
			t.Errorf("%d executions of the call under way, want 1", len(got))
		}
	})
}

// A kept reply may be on its way still when its place is taken.
func TestOnceEvictedOnItsWay(t *testing.T) {
	var n counter
	s := newServer(t, oncrpc.ServerConfig{ReplyCache: 1}, oncrpc.Procedure{Handler: n.handle, NonBlocking: true, Once: true})
	want := dispatchFrom(t, s, peerA, callBytes(1, 1))
	in := callFrom(t, peerA, callBytes(1, 1))
	var message xdr.Message
	in.sent = func(m *xdr.Message) { message = *m }
	in.hold = make(chan struct{})
	s.Dispatch(in)
	for xid := range uint32(10) {
		dispatchFrom(t, s, peerA, callBytes(100+xid, 1))
	}
	if got := message.AppendTo(nil); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
	close(in.hold)
	<-in.reply
}

// Shutdown waits for the calls that wait for a reply, too.
func TestOnceShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: g.handle, Once: true})
		first, waiter := callFrom(t, peerA, callBytes(1, 1, 1)), callFrom(t, peerB, callBytes(1, 1, 1))
		waiter.hold = make(chan struct{})
		s.Dispatch(first)
		s.Dispatch(waiter)
		done := make(chan error, 1)
		go func() { done <- s.Shutdown(context.Background()) }()
		synctest.Wait()
		close(g.open)
		<-first.reply
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("Shutdown returned %v before the last reply had left", err)
		default:
		}
		close(waiter.hold)
		if got := <-waiter.reply; len(got) != 28 {
			t.Errorf("the call that waited was answered with %x", got)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// After the server's end a call that waited for one that failed is executed, as all that were accepted are.
func TestOnceClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		handle := func(ctx context.Context, c *oncrpc.Call) error {
			if n.Add(1) == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		s := newServer(t, oncrpc.ServerConfig{}, oncrpc.Procedure{Handler: handle, Once: true})
		first, waiter := callFrom(t, peerA, callBytes(1, 1)), callFrom(t, peerB, callBytes(1, 1))
		if _, err := s.Connect(first.conn); err != nil {
			t.Fatal(err)
		}
		s.Dispatch(first)
		s.Dispatch(waiter)
		synctest.Wait()
		s.Close()
		<-first.reply
		if got := <-waiter.reply; len(got) != 24 {
			t.Errorf("got %x", got)
		}
	})
}

// Many copies of many calls at the same time: each call is executed once, each copy answered or dropped, and none answered
// with the reply to another.
func TestOnceRace(t *testing.T) {
	const calls, copies = 200, 6
	var executed [calls]atomic.Int32
	s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 3}, oncrpc.Procedure{Once: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
		i := c.Args.Uint32()
		runtime.Gosched()
		executed[i].Add(1)
		c.Results.Uint32(i)
		return nil
	}})
	var wg sync.WaitGroup
	var dropped atomic.Uint64
	for range copies {
		wg.Go(func() {
			for i := range uint32(calls) {
				switch reply := dispatchFrom(t, s, peerA, callBytes(i, 1, i)); {
				case reply == nil:
					dropped.Add(1)
				case binary.BigEndian.Uint32(reply[24:]) != i:
					t.Errorf("call %d was answered with %x", i, reply)
				}
			}
		})
	}
	wg.Wait()
	for i := range executed {
		if got := executed[i].Load(); got != 1 {
			t.Errorf("call %d: %d executions, want 1", i, got)
		}
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	got := s.Stats()
	want := oncrpc.ServerStats{Calls: calls * copies, Dropped: dropped.Load(), Replayed: calls*(copies-1) - dropped.Load()}
	if got != want {
		t.Errorf("stats %+v, want %+v", got, want)
	}
}
