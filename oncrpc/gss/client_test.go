package gss_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
)

var errNoTicket = errors.New("no ticket")

// All calls wait for one context.
func TestOneContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &plain{initiate: func(context.Context) error { time.Sleep(time.Second); return nil }}
		s, sf := newServer(t, gss.ServerConfig{Acceptor: m})
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"})
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() { calls(t, newPeer(1, s).client(f)) })
		}
		all.Wait()
		if n := m.initiates.Load(); n != 1 || sf.Stats() != (gss.ServerStats{Contexts: 1, Made: 1}) {
			t.Errorf("begun %d times, %+v", n, sf.Stats())
		}
	})
}

// After a failure, all calls fail for a while, then the next attempt is made.
func TestFailureStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := errNoTicket
		m := &plain{initiate: func(context.Context) error { return err }}
		s, _ := newServer(t, gss.ServerConfig{Acceptor: m})
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"})
		p := newPeer(1, s)
		fails := func(want int32) {
			t.Helper()
			for range 1000 {
				got := p.client(f).Call(t.Context(), 1, number(1), nil)
				var op *gss.OpError
				if !errors.As(got, &op) || !errors.Is(got, errNoTicket) || op.Target != "test@server" || op.Peer != p.addr {
					t.Fatalf("got %v", got)
				}
			}
			if n := m.initiates.Load(); n != want {
				t.Errorf("begun %d times, want %d", n, want)
			}
		}
		fails(1)
		time.Sleep(time.Second - 1)
		fails(1)
		time.Sleep(time.Nanosecond)
		fails(2)
		time.Sleep(2*time.Second - 1)
		fails(2)
		time.Sleep(time.Nanosecond)
		fails(3)
		for i := range int32(10) {
			time.Sleep(30 * time.Second)
			fails(4 + i)
		}
		time.Sleep(30 * time.Second)
		err = nil
		calls(t, p.client(f))
	})
}

// If the context of the call that creates the security context ends, another call takes over.
func TestCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var slow atomic.Int64
		slow.Store(int64(time.Minute))
		m := &plain{initiate: func(ctx context.Context) error {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(time.Duration(slow.Load())):
				return nil
			}
		}}
		s, sf := newServer(t, gss.ServerConfig{Acceptor: m})
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"})
		p := newPeer(1, s)
		var all sync.WaitGroup
		for i := range 3 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i+1)*time.Second)
			defer cancel()
			all.Go(func() {
				began := time.Now()
				err := p.client(f).Call(ctx, 1, number(1), nil)
				if !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != time.Duration(i+1)*time.Second {
					t.Errorf("%d: %v after %v", i, err, time.Since(began))
				}
			})
		}
		all.Go(func() { time.Sleep(10 * time.Second); slow.Store(0); calls(t, p.client(f)) })
		all.Wait()
		if got := sf.Stats(); got.Made != 1 {
			t.Errorf("%+v", got)
		}
	})
}

// If the connection is lost during creation, it starts over on a new one.
func TestConnectionLost(t *testing.T) {
	m := secret(gsstest.Mechanism{Rounds: 2})
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()})
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server"})
	p := newPeer(1, s)
	n := 0
	p.before = func(context.Context) error {
		if n++; n == 2 || n == 3 {
			return fmt.Errorf("call %d: %w", n, net.ErrClosed)
		}
		return nil
	}
	calls(t, p.client(f))
	if got := sf.Stats(); n != 6 || got.Made != 1 || got.HalfMade != 1 {
		t.Errorf("%d transmissions, %+v", n, got)
	}
	// It does not start over for ever, and the failure does not stay.
	f = gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server"})
	lost := true
	n = 0
	p.before = func(context.Context) error {
		if n++; lost {
			return net.ErrClosed
		}
		return nil
	}
	if err := p.client(f).Call(t.Context(), 1, number(1), nil); !errors.Is(err, net.ErrClosed) || n != 3 {
		t.Errorf("%v after %d transmissions", err, n)
	}
	lost = false
	calls(t, p.client(f))
}

// A context is replaced before it expires, and destroyed when no call uses it. If replacing it
// fails, it is used until it expires.
func TestRefresh(t *testing.T) {
	var c clock
	var fail atomic.Bool
	m := secret(gsstest.Mechanism{Lifetime: time.Hour, Now: c.now})
	in := &failing{Initiator: m.Initiator("alice@TEST"), fail: &fail}
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor(), Now: c.now})
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: in, Target: "test@server", Service: gss.Privacy, Now: c.now})
	p := newPeer(1, s)
	for _, tt := range []struct {
		name      string
		later     time.Duration
		fail      bool
		made      uint64
		destroyed uint64
	}{
		{"first", 0, false, 1, 0},
		{"in time", 54 * time.Minute, false, 1, 0},
		{"five minutes before the end", time.Minute, false, 2, 1},
		{"in time", 54 * time.Minute, true, 2, 1},
		{"five minutes before the end, failing", time.Minute, true, 2, 1},
		{"a minute before the end, failing", 4 * time.Minute, true, 2, 1},
		{"half a minute before the end", 30 * time.Second, false, 3, 2},
	} {
		c.advance(tt.later)
		fail.Store(tt.fail)
		calls(t, p.client(f))
		if got := sf.Stats(); got.Made != tt.made || got.Destroyed != tt.destroyed || got.Stale+got.Unknown != 0 {
			t.Errorf("%s: %+v", tt.name, got)
		}
	}
	fail.Store(true)
	c.advance(time.Hour)
	if err := p.client(f).Call(t.Context(), 1, number(1), nil); !errors.Is(err, errNoTicket) {
		t.Errorf("expired: %v", err)
	}
}

type failing struct {
	gss.Initiator
	fail *atomic.Bool
}

func (f *failing) Initiate(ctx context.Context, service string) (gss.Negotiation, error) {
	if f.fail.Load() {
		return nil, errNoTicket
	}
	return f.Initiator.Initiate(ctx, service)
}

// If a ticket is not renewed, each new context expires at the same time. That must not cause a new
// context for each call.
func TestRefreshSameEnd(t *testing.T) {
	var c clock
	end := time.Now().Add(time.Hour)
	m := &plain{expires: func() time.Time { return end }}
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m, Now: c.now})
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server", Now: c.now})
	p := newPeer(1, s)
	for range 3590 {
		calls(t, p.client(f))
		c.advance(time.Second)
	}
	if got := sf.Stats(); got.Made < 2 || got.Made > 6 {
		t.Errorf("%+v", got)
	}
}

// A context is replaced before its sequence numbers run out, and destroyed.
func TestNumbersRunOut(t *testing.T) {
	m := secret(gsstest.Mechanism{})
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()})
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server", Service: gss.Integrity})
	c := newPeer(1, s).client(f)
	calls(t, c)
	f.SetSeq(0x7fd00000)
	calls(t, c)
	if got := sf.Stats(); got.Made != 1 {
		t.Errorf("%+v", got)
	}
	f.SetSeq(0x7fffffff)
	calls(t, c)
	want := gss.ServerStats{Contexts: 1, Made: 2, Destroyed: 1}
	f.SetSeq(0x7fe00000)
	calls(t, c)
	want.Made, want.Destroyed = 3, 2
	if got := sf.Stats(); got.Made != 3 || got.Stale != 0 || got.Contexts != int(got.Made-got.Destroyed) {
		t.Errorf("%+v, want %+v", got, want)
	}
	// Without sequence numbers, nothing is sent.
	f.SetSeq(0x7fffffff)
	if _, err := f.Seal(newEncoder(), newMessage()); err == nil {
		t.Error("the number 0x80000000 is used")
	}
}

// A replaced context is not destroyed while a call uses it.
func TestReplacedInUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		slow := oncrpc.Program{Number: 1, Version: 1, Procedures: []oncrpc.Procedure{
			1: {Handler: func(context.Context, *oncrpc.Call) error { <-release; return nil }}}}
		m := secret(gsstest.Mechanism{})
		s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()}, slow)
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server"})
		c := newPeer(1, s).client(f)
		calls(t, c)
		done := make(chan error, 1)
		go func() { done <- oncrpc.NewClient(newPeer(1, s), 1, 1, f).Call(t.Context(), 1, nil, nil) }()
		synctest.Wait()
		f.SetSeq(0x7ff00000)
		for range 3 {
			calls(t, c)
		}
		if got := sf.Stats(); got.Contexts != 2 || got.Destroyed != 0 {
			t.Errorf("while a call is under way: %+v", got)
		}
		close(release)
		if err := <-done; err != nil {
			t.Error(err)
		}
		calls(t, c)
		if got := sf.Stats(); got.Contexts != 1 || got.Destroyed != 1 || got.Unknown != 0 {
			t.Errorf("later: %+v", got)
		}
	})
}

// The largest window lets calls proceed.
func TestLongestWindow(t *testing.T) {
	p := newPeer(1, nil)
	p.answer = func(call []byte) []byte {
		if call[39] == 1 { // gss_proc
			return initReply(initOf(1<<32 - 1))
		}
		return unhexReply("00000006 00000005 73756d0400000000 00000000 00000007")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: &plain{}, Target: "test@server"})
	if err := p.client(f).Call(ctx, 1, number(7), new(number)); err != nil {
		t.Error(err)
	}
}

// No more calls are pending than the server's window allows. Waiting calls may be cancelled, and
// calls that end let others proceed.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &plain{}
		p := newPeer(1, nil)
		var underWay, most atomic.Int32
		ends := make(chan struct{})
		var seq atomic.Uint32
		p.answer = func(call []byte) []byte {
			if call[39] == 1 { // gss_proc
				return initReply(initOf(2))
			}
			most.Store(max(most.Load(), underWay.Add(1)))
			<-ends
			underWay.Add(-1)
			seq.Add(1)
			return unhexReply("00000006 00000005 73756d0400000000 00000000 00000007")
		}
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"})
		c := p.client(f)
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() { calls(t, c) })
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := c.Call(ctx, 1, number(7), nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waits: %v", err)
		}
		if under, waiting := underWay.Load(), f.Waiting(); under != 2 || waiting != 3 {
			t.Errorf("%d calls under way, %d wait", under, waiting)
		}
		for range 5 {
			ends <- struct{}{}
			synctest.Wait()
		}
		all.Wait()
		if most.Load() != 2 || seq.Load() != 5 || f.Waiting() != 0 {
			t.Errorf("%d calls under way at most, %d in all, %d wait", most.Load(), seq.Load(), f.Waiting())
		}
	})
}

// Close destroys the context once. A later call creates another.
func TestClose(t *testing.T) {
	m := secret(gsstest.Mechanism{})
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()})
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server", Service: gss.Privacy})
	p := newPeer(1, s)
	c := p.client(f)
	if err := f.Close(t.Context(), c); err != nil {
		t.Errorf("without a context: %v", err)
	}
	for range 2 {
		calls(t, c)
		for range 2 {
			if err := f.Close(t.Context(), c); err != nil {
				t.Error(err)
			}
		}
	}
	if got := sf.Stats(); got != (gss.ServerStats{Made: 2, Destroyed: 2}) {
		t.Errorf("%+v", got)
	}
	calls(t, c)
	p.before = func(context.Context) error { return net.ErrClosed }
	var op *gss.OpError
	if err := f.Close(t.Context(), c); !errors.Is(err, net.ErrClosed) || !errors.As(err, &op) {
		t.Errorf("got %v", err)
	}
}

// A second denial is final. Denials for other reasons do not discard the context.
func TestDenied(t *testing.T) {
	m := secret(gsstest.Mechanism{})
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()})
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server"})
	p := newPeer(1, s)
	calls(t, p.client(f))
	for _, tt := range []struct {
		stat oncrpc.AuthStat
		made uint64 // more
		n    int    // transmissions
	}{
		{oncrpc.GSSCredProblem, 1, 2}, {oncrpc.GSSCtxProblem, 1, 2}, {oncrpc.AuthBadCred, 0, 1}, {oncrpc.AuthTooWeak, 0, 1},
	} {
		calls(t, p.client(f))
		before, n := sf.Stats().Made, 0
		p.answer = func(call []byte) []byte {
			if call[39] != 0 {
				return nil
			}
			n++
			return append(unhexDenied(), byte(tt.stat))
		}
		err := p.client(f).Call(t.Context(), 1, number(1), nil)
		var denied *oncrpc.AuthError
		if !errors.As(err, &denied) || denied.Stat != tt.stat || n != tt.n {
			t.Errorf("%v: got %v, after %d transmissions", tt.stat, err, n)
		}
		p.answer = nil
		if got := sf.Stats().Made - before; got != tt.made {
			t.Errorf("%v: %d contexts made, want %d", tt.stat, got, tt.made)
		}
	}
}
