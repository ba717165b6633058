package oncrpc_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Calls that arrive after the server has ended and is idle are dropped, and do not count as
// pending.
func TestDroppedWhenIdle(t *testing.T) {
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.Handle(oncrpc.Program{Number: testProgram, Version: testVersion})
	for range 2 {
		if err := s.Shutdown(context.Background()); err != nil {
			t.Fatal(err)
		}
		in := newIncoming(t, callBytes(1, 0, 3))
		oncrpc.DispatcherOf(s).Dispatch(in)
		if reply := <-in.reply; reply != nil {
			t.Errorf("answered with %x, want no answer", reply)
		}
	}
	if got, want := s.Stats(), (oncrpc.ServerStats{Dropped: 2}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
