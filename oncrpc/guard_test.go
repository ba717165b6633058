package oncrpc_test

import (
	"context"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// leaving is a ReplayPolicy, a ServerFlavor and its Identity. Its method with the name in does not
// return: it calls leave.
type leaving struct {
	in    string
	leave func()
}

func (l *leaving) at(method string) {
	if l.in == method {
		l.leave()
	}
}

func (l *leaving) Arrive(a *oncrpc.OnceCall) bool {
	if l.in == "Arrive, after Drop" {
		a.Drop()
		l.leave()
	}
	l.at("Arrive")
	return true
}
func (l *leaving) Executed(*oncrpc.OnceCall, *xdr.Message) { l.at("Executed") }
func (l *leaving) Failed(*oncrpc.OnceCall)                 { l.at("Failed") }

func (l *leaving) Flavor() oncrpc.AuthFlavor { return oncrpc.FlavorNone }
func (l *leaving) Accept(_ context.Context, a *oncrpc.Acceptance) error {
	a.Identity = l
	return nil
}
func (l *leaving) AppendKey(b []byte) []byte { l.at("AppendKey"); return b }
func (l *leaving) String() string            { return "leaving" }

func (l *leaving) forward(in oncrpc.IncomingCall) {
	if l.in == "Forward, after Reply" {
		in.Reply(xdr.Message{Inline: make([]byte, 24)})
		l.leave()
	}
	l.at("Forward")
	in.Drop()
}

// What runs beside handlers may panic, or end its goroutine, as handlers may: the call gets
// SYSTEM_ERR, and others are answered.
func TestGuards(t *testing.T) {
	const (
		fails = testProgram + iota
		own   // keeps replies itself
		unknown
		dropped = 1000 // instead of a status
	)
	for _, tt := range []struct {
		in            string
		program       uint32
		procedure     uint32
		panic, goexit oncrpc.AcceptStat
	}{
		{"Share", own, 1, oncrpc.SystemErr, oncrpc.SystemErr},
		{"Arrive", own, 1, oncrpc.SystemErr, oncrpc.SystemErr},
		{"Arrive", own, 3, oncrpc.SystemErr, oncrpc.SystemErr},
		{"Arrive, after Drop", own, 1, dropped, dropped},
		{"Executed", own, 1, oncrpc.SystemErr, oncrpc.SystemErr},
		{"Executed", own, 3, oncrpc.SystemErr, oncrpc.SystemErr},
		{"Failed", own, 2, oncrpc.GarbageArgs, oncrpc.SystemErr},
		{"AppendKey", fails, 1, oncrpc.SystemErr, oncrpc.SystemErr},
		{"Forward", unknown, 1, oncrpc.SystemErr, oncrpc.SystemErr},
		{"Forward, after Reply", unknown, 1, oncrpc.Success, oncrpc.Success},
	} {
		for how, want := range map[string]oncrpc.AcceptStat{"panic": tt.panic, "goexit": tt.goexit} {
			t.Run(tt.in+"/"+how, func(t *testing.T) {
				l := &leaving{in: tt.in, leave: runtime.Goexit}
				if how == "panic" {
					l.leave = func() { panic("disk on fire") }
				}
				cfg := oncrpc.ServerConfig{
					MaxConcurrent: 1, Logger: quiet, Forward: l.forward,
					Flavors: []oncrpc.ServerFlavor{oncrpc.AcceptAuthNone()},
				}
				if tt.in == "AppendKey" {
					cfg.Flavors[0] = l
				}
				s := oncrpc.NewServer(cfg)
				ok := func(context.Context, *oncrpc.Call) error { return nil }
				procedures := []oncrpc.Procedure{
					1: {Once: true, Handler: ok},
					2: {Once: true, Handler: func(context.Context, *oncrpc.Call) error {
						return oncrpc.ErrGarbageArgs
					}},
					3: {Once: true, Handler: ok, NonBlocking: true},
				}
				if err := s.Handle(
					oncrpc.Program{Number: fails, Version: 1, Procedures: procedures},
					oncrpc.Program{
						Number: own, Version: 1, Procedures: procedures, Replay: l,
						Share: func(*oncrpc.Call) uint64 { l.at("Share"); return 1 },
					}); err != nil {
					t.Fatal(err)
				}
				call := func(program, procedure uint32) oncrpc.AcceptStat {
					in := newIncoming(t, encodeHeader(&oncrpc.CallHeader{XID: 7, RPCVersion: 2,
						Program: program, Version: 1, Procedure: procedure}))
					in.Conn() // which makes it, on this goroutine
					dispatched := make(chan struct{})
					go func() {
						defer close(dispatched)
						oncrpc.DispatcherOf(s).Dispatch(in)
					}()
					reply := <-in.reply
					<-dispatched
					if reply == nil {
						return dropped
					}
					return oncrpc.AcceptStat(binary.BigEndian.Uint32(reply[20:]))
				}
				for range 3 {
					if got := call(tt.program, tt.procedure); got != want {
						t.Errorf("got %v, want %v", got, want)
					}
					if got := call(fails, 0); got != oncrpc.Success {
						t.Errorf("NULL: got %v", got)
					}
				}
				if err := s.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
				if got := s.Stats(); got.Panics != 3 || got.InFlight != 0 {
					t.Errorf("stats %+v", got)
				}
			})
		}
	}
}
