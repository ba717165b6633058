package oncrpc_test

import (
	"context"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// If a handler ends its goroutine, as t.FailNow does, its call is answered and the server still
// runs others.
func TestGoexit(t *testing.T) {
	s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 1, Logger: quiet},
		oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error {
			runtime.Goexit()
			return nil
		}},
		oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error { return nil }})
	for xid := range uint32(5) {
		for proc, want := range []oncrpc.AcceptStat{1: oncrpc.SystemErr, 2: oncrpc.Success} {
			if proc == 0 {
				continue
			}
			in := newIncoming(t, callBytes(xid, uint32(proc)))
			oncrpc.DispatcherOf(s).Dispatch(in)
			reply := <-in.reply
			if got := oncrpc.AcceptStat(binary.BigEndian.Uint32(reply[20:])); got != want {
				t.Errorf("procedure %d: got %v, want %v", proc, got, want)
			}
		}
	}
	if err := s.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if got := s.Stats(); got.Panics != 5 || got.InFlight != 0 {
		t.Errorf("stats %+v", got)
	}
}
