package gss_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
)

// A key distribution centre that hangs delays no call that has a usable context: neither the one
// that renews it nor others.
func TestRefreshHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(time.Hour)
		var hang atomic.Bool
		m := &plain{expires: func() time.Time { return end }, initiate: func(ctx context.Context) error {
			if hang.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		}}
		s, sf := newServer(t, gss.ServerConfig{Acceptor: m})
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"})
		p := newPeer(1, s)
		p.before = func(ctx context.Context) error { return ctx.Err() }
		client := p.client(f)
		calls(t, client)
		hang.Store(true)
		time.Sleep(56 * time.Minute)
		for i := range 200 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := client.Call(ctx, 1, number(1), new(number)); err != nil {
				t.Fatalf("call %d: %v", i, err)
			}
			cancel()
		}
		if n := m.initiates.Load(); n != 2 {
			t.Errorf("context begun %d times, want 2", n)
		}
		// it has no deadline
		if err := client.Call(t.Context(), 1, number(1), new(number)); err != nil {
			t.Error(err)
		}
		hang.Store(false)
		time.Sleep(time.Minute)
		end = end.Add(time.Hour)
		calls(t, client)
		if got := sf.Stats(); got.Made != 2 || got.Stale+got.Unknown != 0 {
			t.Errorf("%+v", got)
		}
	})
}

// When the old context has expired, the next call tries again at once: the failure of a call with
// little time says nothing about one with more.
func TestRefreshHungBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(time.Hour)
		var hang atomic.Bool
		m := &plain{expires: func() time.Time { return end }, initiate: func(ctx context.Context) error {
			if hang.Load() {
				<-ctx.Done()
			}
			return ctx.Err()
		}}
		s, _ := newServer(t, gss.ServerConfig{Acceptor: m})
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"})
		client := newPeer(1, s).client(f)
		calls(t, client)
		hang.Store(true)
		time.Sleep(time.Hour - 100*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
		defer cancel()
		if err := client.Call(ctx, 1, number(1), new(number)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
		hang.Store(false)
		end = end.Add(time.Hour)
		calls(t, client)
	})
}

// A server that never confirms the end of a context does not block a call until its deadline.
func TestDestroyHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := time.Now().Add(time.Hour)
		m := &plain{expires: func() time.Time { return end }}
		s, sf := newServer(t, gss.ServerConfig{Acceptor: m})
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"})
		p := newPeer(1, s)
		n := 0
		p.before = func(ctx context.Context) error {
			if n++; n == 4 { // INIT, call, INIT, DESTROY
				<-ctx.Done()
			}
			return ctx.Err()
		}
		client := p.client(f)
		calls(t, client)
		time.Sleep(56 * time.Minute)
		end = end.Add(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := client.Call(ctx, 1, number(1), new(number)); err != nil {
			t.Error(err)
		}
		if got := sf.Stats(); n != 5 || got.Made != 2 || got.Destroyed != 0 {
			t.Errorf("%d transmissions, %+v", n, got)
		}
	})
}

// Windows of all sizes let calls proceed.
func TestWindowsOfServers(t *testing.T) {
	for _, window := range []uint32{1, 2, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1<<32 - 1} {
		p := newPeer(1, nil)
		n := 0
		p.answer = func([]byte) []byte {
			if n++; n == 1 {
				return initReply(initOf(window))
			}
			return unhexReply("00000006 00000005 73756d04 00000000 00000000 00000007")
		}
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: &plain{}, Target: "test@server"})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		var got number
		if err := p.client(f).Call(ctx, 1, number(7), &got); err != nil || got != 7 {
			t.Errorf("window %d: %d, %v", window, got, err)
		}
		cancel()
	}
}

// If a server denies all calls, each call is made at most twice, with different contexts, and ends.
func TestDeniedForEver(t *testing.T) {
	for _, stat := range []oncrpc.AuthStat{
		oncrpc.GSSCredProblem, oncrpc.GSSCtxProblem, oncrpc.AuthTooWeak,
	} {
		p := newPeer(1, nil)
		var creations, data int
		p.answer = func(call []byte) []byte {
			if bytes.Contains(call, []byte("hello")) {
				creations++
				return initReply(initOf(8192))
			}
			data++
			return append(unhexDenied(), byte(stat))
		}
		m := &plain{}
		client := p.client(gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server"}))
		const n = 50
		for range n {
			err := client.Call(t.Context(), 1, number(1), nil)
			if denied, ok := errors.AsType[*oncrpc.AuthError](err); !ok || denied.Stat != stat {
				t.Fatal(err)
			}
		}
		if data > 2*n || creations > n+1 || int(m.initiates.Load()) != creations {
			t.Errorf("%v: %d calls were %d, with %d contexts, begun %d times", stat, n, data, creations,
				m.initiates.Load())
		}
	}
}

// Whatever bit of a reply is flipped, and wherever it is truncated, the call ends with an error or
// with the right results, and the next call works.
func TestTamperedReplies(t *testing.T) {
	for _, service := range []gss.Service{gss.Integrity, gss.Privacy} {
		m := secret(gsstest.Mechanism{})
		s, _ := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()})
		p := newPeer(1, s)
		client := p.client(gss.NewClientFlavor(gss.ClientConfig{
			Initiator: m.Initiator("alice@TEST"), Target: "test@server", Service: service,
		}))
		calls(t, client)
		for i := range 3000 {
			p.answer = func(call []byte) []byte {
				p.answer = nil
				reply := p.call(call)
				switch {
				case i < 8*len(reply):
					reply[i/8] ^= 1 << (i % 8)
				case i-8*len(reply) < len(reply):
					reply = reply[:i-8*len(reply)]
				default:
					rand.Shuffle(len(reply)-4, func(i, j int) {
						reply[4+i], reply[4+j] = reply[4+j], reply[4+i]
					})
				}
				return reply
			}
			var n number
			if err := client.Call(t.Context(), 1, number(7), &n); err == nil && n != 7 {
				t.Fatalf("%v: change %d: results are %d", service, i, n)
			}
			p.answer = nil
		}
		calls(t, client)
	}
}
