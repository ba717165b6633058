package gss_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
)

// begin sends the first of several tokens of a context, and returns the handle, or nil if it is
// refused.
func begin(t *testing.T, p *peer, m *gsstest.Mechanism) []byte {
	t.Helper()
	n, err := m.Initiator("alice@TEST").Initiate(t.Context(), "test@server")
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := n.Step(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return answered(t, p.call(opaque(unhex(t, goldenCreation+"00000001 00000000 00000000 00000000"), token)))
}

// answered returns the handle in the answer to a creation request, or nil if it is a refusal.
func answered(t *testing.T, reply []byte) []byte {
	t.Helper()
	if len(reply) < 28 || !bytes.Equal(reply[4:24], words(nil, 1, 0, 0, 0, 0)) {
		t.Fatalf("answer %x", reply)
	}
	if reply[27] == 0 {
		return nil
	}
	return reply[28:44]
}

// goOn sends another, useless token and returns the major status.
func goOn(t *testing.T, p *peer, handle []byte) uint32 {
	t.Helper()
	call := filled(t, `00000001 00000000 00000002 00061a80 00000003 00000000
		00000006 00000024 00000001 00000002 00000000 00000001 00000010 HANDLE
		00000000 00000000 00000000`, handle)
	reply := p.call(call)
	if answered(t, reply) != nil {
		t.Fatalf("answer %x", reply)
	}
	return uint32(reply[28])<<24 | uint32(reply[29])<<16 | uint32(reply[30])<<8 | uint32(reply[31])
}

// Contexts under creation are limited, in total and for each host. They time out, and do not affect
// complete ones.
func TestHalfMade(t *testing.T) {
	var c clock
	m := secret(gsstest.Mechanism{Rounds: 2})
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor(), Now: c.now})
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server"})
	calls(t, newPeer(1, s).client(f))

	// One host has at most half, and its oldest one makes room.
	var handles [][]byte
	for range gss.MaxHalfMade {
		handles = append(handles, begin(t, newPeer(1, s), m))
	}
	if got := sf.Stats(); got.HalfMade != gss.MaxHalfMade/2 || got.Evicted != gss.MaxHalfMade/2 {
		t.Errorf("a host: %+v", got)
	}
	const noContext, defectiveToken = 0x00080000, 0x00090000
	if major := goOn(t, newPeer(1, s), handles[0]); major != noContext {
		t.Errorf("the oldest: major 0x%x", major)
	}
	for range 2 { // a token that is refused ends the context
		if major := goOn(t, newPeer(1, s), handles[len(handles)-1]); major != defectiveToken && major != noContext {
			t.Errorf("the newest: major 0x%x", major)
		}
	}
	// Many hosts together do not exceed the limit.
	for host := range 100 {
		for range 20 {
			begin(t, newPeer(byte(10+host), s), m)
		}
	}
	if got := sf.Stats(); got.HalfMade > gss.MaxHalfMade || got.HalfMade < gss.MaxHalfMade/2 || got.Contexts != 1 {
		t.Errorf("many hosts: %+v", got)
	}
	// They time out, including one that continues too late.
	late := begin(t, newPeer(200, s), m)
	c.advance(30 * time.Second)
	if major := goOn(t, newPeer(200, s), late); late == nil || major != noContext {
		t.Errorf("too late: major 0x%x", major)
	}
	if got := sf.Stats(); got.HalfMade != 0 || got.Contexts != 1 {
		t.Errorf("in the end: %+v", got)
	}
	calls(t, newPeer(1, s).client(f))
	if got := sf.Stats(); got.Made != 1 || got.Unknown != 0 {
		t.Errorf("the context that there was: %+v", got)
	}
}

// The number of tokens for a context is limited.
func TestRounds(t *testing.T) {
	for _, tt := range []struct {
		rounds int
		made   bool
	}{{gss.MaxRounds, true}, {gss.MaxRounds + 1, false}} {
		m := secret(gsstest.Mechanism{Rounds: tt.rounds})
		s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor()})
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server"})
		err := newPeer(1, s).client(f).Call(t.Context(), 1, number(1), new(number))
		if got := sf.Stats(); err == nil != tt.made || got.HalfMade != 0 || got.Contexts != int(got.Made) {
			t.Errorf("%d tokens: %v, %+v", tt.rounds, err, got)
		}
	}
}

// An unused context is dropped, and its client creates another.
func TestIdle(t *testing.T) {
	var c clock
	m := secret(gsstest.Mechanism{})
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m.Acceptor(), Now: c.now, IdleTimeout: time.Minute})
	f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server"})
	for _, tt := range []struct {
		later time.Duration
		made  uint64
	}{{0, 1}, {time.Minute - time.Second, 1}, {time.Minute - time.Second, 1}, {time.Minute, 2}} {
		c.advance(tt.later)
		calls(t, newPeer(1, s).client(f))
		if got := sf.Stats(); got.Made != tt.made || got.Contexts != 1 || got.Unknown != tt.made-1 || got.Expired != tt.made-1 {
			t.Errorf("%v later: %+v", tt.later, got)
		}
	}
	c.advance(time.Hour)
	if got := sf.Stats(); got.Contexts != 0 {
		t.Errorf("an hour later: %+v", got)
	}
}

// slowAcceptor takes a second for each token.
type slowAcceptor struct{ underWay, most, all atomic.Int32 }

func (s *slowAcceptor) Accept() gss.Negotiation { return s }

func (s *slowAcceptor) Step(context.Context, []byte) ([]byte, gss.Context, error) {
	n := s.underWay.Add(1)
	defer s.underWay.Add(-1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	s.all.Add(1)
	time.Sleep(time.Second)
	return nil, nil, &gss.StatusError{Major: gss.NoCred, Err: errors.New("no keytab")}
}

// Only a few tokens are processed at a time. Others wait, but not for ever.
func TestHandshakesAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &slowAcceptor{}
		s, sf := newServer(t, gss.ServerConfig{Acceptor: a})
		const many = 40 * gss.MaxHandshakes
		var all sync.WaitGroup
		for i := range many {
			all.Go(func() { begin(t, newPeer(byte(i%50), s), secret(gsstest.Mechanism{})) })
		}
		all.Wait()
		if got := sf.Stats(); a.most.Load() != gss.MaxHandshakes || got.Refused != many || got.HalfMade+got.Contexts != 0 {
			t.Errorf("%d at a time, %+v", a.most.Load(), got)
		}
		if n := a.all.Load(); n < 30*gss.MaxHandshakes || n == many {
			t.Errorf("%d of %d were looked at", n, many)
		}
	})
}

// If a reply cannot be protected, it is not sent, and its connection is closed (RFC 2203 sections
// 5.3.3.4.1 and 5.3.3.4.4).
func TestWrapFails(t *testing.T) {
	for _, service := range []gss.Service{gss.Integrity, gss.Privacy} {
		m := &plain{broken: errors.New("broken")}
		failing := oncrpc.Program{Number: 1, Version: 1, Procedures: []oncrpc.Procedure{
			1: {Handler: func(context.Context, *oncrpc.Call) error { m.fails.Store(true); return nil }}}}
		s, sf := newServer(t, gss.ServerConfig{Acceptor: m}, failing)
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: m, Target: "test@server", Service: service})
		p := newPeer(1, s)
		err := oncrpc.NewClient(p, 1, 1, f).Call(t.Context(), 1, nil, nil)
		if got := sf.Stats(); err == nil || !p.closed.Load() || got.WrapFailures != 1 || got.ConnsClosed != 1 {
			t.Errorf("%v: %v, closed %v, %+v", service, err, p.closed.Load(), got)
		}
		m.fails.Store(false)
		calls(t, newPeer(1, s).client(f))
		// A dropped call is in flight until Drop returns.
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if got := s.Stats(); got.Dropped != 1 || got.InFlight != 0 {
			t.Errorf("%v: %+v", service, got)
		}
	}
}

// A call is denied if its verifier cannot be made (RFC 2203 section 5.3.3.4.1), or if the mechanism
// says that its context has expired.
func TestVerifierFails(t *testing.T) {
	m := &plain{broken: errors.New("broken")}
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m})
	p := newPeer(1, s)
	handle := newContext(t, p, gss.None)
	m.fails.Store(true)
	reply := p.call(filled(t, goldens[0].call, handle))
	if !bytes.Equal(reply[4:], words(nil, 1, 1, 1, uint32(oncrpc.GSSCtxProblem))) || sf.Stats().Stale != 1 {
		t.Errorf("reply %x, %+v", reply, sf.Stats())
	}
	// A context is refused, too, if its verifier cannot be made.
	if answered(t, p.call(unhex(t, goldens[0].creation))) != nil {
		t.Error("a context without a verifier is made")
	}
}

// A context that has expired when it is complete is refused.
func TestMadeExpired(t *testing.T) {
	m := &plain{expires: func() time.Time { return time.Now().Add(-time.Second) }}
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m})
	reply := newPeer(1, s).call(unhex(t, goldens[0].creation))
	if answered(t, reply) != nil || !bytes.Equal(reply[28:32], words(nil, 0x000b0000)) {
		t.Errorf("reply %x", reply)
	}
	if got := sf.Stats(); got != (gss.ServerStats{Refused: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestConfig(t *testing.T) {
	for name, f := range map[string]func(){
		"no Initiator":        func() { gss.NewClientFlavor(gss.ClientConfig{}) },
		"no Acceptor":         func() { gss.NewServerFlavor(gss.ServerConfig{}) },
		"unknown Service":     func() { gss.NewClientFlavor(gss.ClientConfig{Initiator: &plain{}, Service: 4}) },
		"MaxContexts below 0": func() { gss.NewServerFlavor(gss.ServerConfig{Acceptor: &plain{}, MaxContexts: -1}) },
		"IdleTimeout below 0": func() { gss.NewServerFlavor(gss.ServerConfig{Acceptor: &plain{}, IdleTimeout: -1}) },
	} {
		func() {
			defer func() {
				if _, ok := recover().(*oncrpc.ConfigError); !ok {
					t.Errorf("%s: no panic with an *oncrpc.ConfigError", name)
				}
			}()
			f()
		}()
	}
}

// FuzzServerAccept passes arbitrary credentials, verifiers and arguments to a server.
func FuzzServerAccept(f *testing.F) {
	for _, g := range goldens {
		for _, call := range []string{g.creation, g.call, goldenDestruction} {
			f.Add(filled(f, call, make([]byte, 16))[24:])
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		s, sf := newServer(t, gss.ServerConfig{Acceptor: &plain{}})
		p := newPeer(1, s)
		handle := newContext(t, p, gss.None)
		for procedure := range uint32(2) {
			call := append(words(nil, 1, 0, 2, testProgram, testVersion, procedure), b...)
			for i := range 2 { // the second time with an existing context
				if i == 1 {
					call = bytes.Replace(call, make([]byte, 16), handle, 1)
				}
				reply := p.call(call)
				if reply == nil != p.closed.Swap(false) {
					t.Errorf("reply %x, or the connection is closed", reply)
				}
			}
		}
		if got := sf.Stats(); got.Contexts+got.HalfMade > 5 {
			t.Errorf("%+v", got)
		}
	})
}

// A host without a context always gets a place, if necessary that of the host with the most.
func TestPlaceForEverybody(t *testing.T) {
	m := &plain{}
	s, sf := newServer(t, gss.ServerConfig{Acceptor: m, MaxContexts: 6})
	const credProblem = byte(oncrpc.GSSCredProblem)
	held := make(map[string][]byte)
	works := func(name string, host byte, seq byte, want bool) {
		t.Helper()
		call := filled(t, goldens[0].call, held[name])
		call[43] = seq
		reply := newPeer(host, s).call(call)
		if ok := reply[11] == 0; ok != want || !ok && reply[19] != credProblem {
			t.Errorf("%s: reply %x", name, reply)
		}
	}
	for _, c := range []struct {
		name string
		host byte
	}{{"1a", 1}, {"1b", 1}, {"1c", 1}, {"2a", 2}, {"3a", 3}, {"4a", 4}} {
		held[c.name] = newContext(t, newPeer(c.host, s), gss.None)
	}
	works("1a", 1, 1, true) // so 1b is the least recently used
	held["5a"] = newContext(t, newPeer(5, s), gss.None)
	works("1b", 1, 1, false)
	held["6a"] = newContext(t, newPeer(6, s), gss.None)
	works("1c", 1, 1, false)
	works("1a", 1, 2, true)
	for _, name := range []string{"2a", "3a", "4a", "5a", "6a"} {
		works(name, name[0]-'0', 1, true)
	}
	held["7a"] = newContext(t, newPeer(7, s), gss.None)
	works("1a", 1, 3, false)
	works("7a", 7, 1, true)
	if got := sf.Stats(); got.Contexts != 6 || got.Evicted != 3 {
		t.Errorf("%+v", got)
	}
}
