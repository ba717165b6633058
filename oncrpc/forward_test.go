package oncrpc_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Calls for unregistered programs are forwarded undecoded. Registered programs still answer, also
// with errors.
func TestForward(t *testing.T) {
	const other = testProgram + 1
	header := func(change func(*oncrpc.CallHeader)) []byte {
		h := oncrpc.CallHeader{XID: 7, RPCVersion: oncrpc.Version, Program: testProgram, Version: testVersion, Procedure: 1}
		change(&h)
		return encodeHeader(&h)
	}
	reply := []byte("the reply of another server.")
	for _, tt := range []struct {
		name    string
		call    []byte
		forward bool
	}{
		{"its own", header(func(*oncrpc.CallHeader) {}), false},
		{"another version of its own", header(func(h *oncrpc.CallHeader) { h.Version++ }), false},
		{"another procedure of its own", header(func(h *oncrpc.CallHeader) { h.Procedure = 99 }), false},
		{"another program", header(func(h *oncrpc.CallHeader) { h.Program = other }), true},
		{"another program with a credential of any kind", header(func(h *oncrpc.CallHeader) {
			h.Program, h.Cred = other, oncrpc.Auth{Flavor: oncrpc.FlavorGSS, Body: []byte("gss")}
		}), true},
		{"another version of RPC", header(func(h *oncrpc.CallHeader) { h.RPCVersion = 3 }), true},
		{"its own, cut off behind the program", header(func(*oncrpc.CallHeader) {})[:16], false},
		{"cut off before the program", header(func(*oncrpc.CallHeader) {})[:12], true},
		{"nothing", nil, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			forwarded := false
			s := newServer(t, oncrpc.ServerConfig{Forward: func(in oncrpc.IncomingCall) {
				forwarded = true
				d := in.Message()
				if got := d.Raw(d.Remaining()); !bytes.Equal(got, tt.call) {
					t.Errorf("forwarded %x, want %x", got, tt.call)
				}
				in.Reply(xdr.Message{Inline: reply})
			}}, oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error { return nil }})
			got := dispatch(t, s, tt.call)
			if forwarded != tt.forward || bytes.Equal(got, reply) != tt.forward {
				t.Errorf("forwarded %v, reply %x; want forwarded %v", forwarded, got, tt.forward)
			}
			if got := s.Stats(); got.Calls != 1 || got.InFlight != 0 || (got.Forwarded == 1) != tt.forward {
				t.Errorf("stats %+v", got)
			}
		})
	}
}

// Shutdown waits until forwarded calls are dropped or their replies sent. The owner of a reply is
// released.
func TestForwardShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var held []oncrpc.IncomingCall
		s := newServer(t, oncrpc.ServerConfig{Forward: func(in oncrpc.IncomingCall) { held = append(held, in) }})
		h := oncrpc.CallHeader{RPCVersion: oncrpc.Version, Program: testProgram + 1}
		answered, dropped := newIncoming(t, encodeHeader(&h)), newIncoming(t, encodeHeader(&h))
		answered.hold = make(chan struct{})
		oncrpc.DispatcherOf(s).Dispatch(answered)
		oncrpc.DispatcherOf(s).Dispatch(dropped)
		down := make(chan error, 1)
		go func() { down <- s.Shutdown(context.Background()) }()
		waits := func(when string) {
			t.Helper()
			synctest.Wait()
			select {
			case err := <-down:
				t.Fatalf("%s: Shutdown returned %v", when, err)
			default:
			}
		}
		waits("with two calls under way")
		held[1].Drop()
		waits("with one dropped")
		var owner releases
		held[0].Reply(xdr.Message{Inline: make([]byte, 24), Owner: &owner})
		waits("before the reply has left")
		close(answered.hold)
		if err := <-down; err != nil {
			t.Error(err)
		}
		if got := owner.Load(); got != 1 {
			t.Errorf("the reply was released %d times, want 1", got)
		}
		late := newIncoming(t, encodeHeader(&h))
		oncrpc.DispatcherOf(s).Dispatch(late)
		if got := <-late.reply; got != nil || len(held) != 2 {
			t.Errorf("a late call was answered with %x, %d were forwarded", got, len(held))
		}
		if got, want := s.Stats(), (oncrpc.ServerStats{Calls: 2, Forwarded: 2, Dropped: 2}); got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
	})
}

// Forwarding a call does not allocate.
func TestForwardAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("sync.Pool forgets at random under the race detector")
	}
	reply := make([]byte, 24)
	s := newServer(t, oncrpc.ServerConfig{Forward: func(in oncrpc.IncomingCall) { in.Reply(xdr.Message{Inline: reply}) }})
	call := encodeHeader(&oncrpc.CallHeader{RPCVersion: oncrpc.Version, Program: testProgram + 1})
	in := &quietIncoming{*newIncoming(t, call)}
	if n := testing.AllocsPerRun(100, func() {
		in.args.Reset(call, nil)
		oncrpc.DispatcherOf(s).Dispatch(in)
	}); n != 0 {
		t.Errorf("%v allocations a call, want 0", n)
	}
}
