package oncrpc_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// A queued call is not executed if its connection has ended: the caller may have repeated it over
// another connection, and made further calls.
func TestEndedWhileQueued(t *testing.T) {
	for _, once := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var n counter
			gate := make(chan struct{})
			s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 1},
				oncrpc.Procedure{Handler: func(context.Context, *oncrpc.Call) error { <-gate; return nil }},
				oncrpc.Procedure{Handler: n.handle, Once: once})
			first, late, again := callFrom(t, peerA, callBytes(1, 1)), callFrom(t, peerA, callBytes(0x01020304, 2)), callFrom(t, peerB, callBytes(0x01020304, 2))
			oncrpc.DispatcherOf(s).Dispatch(first)
			oncrpc.DispatcherOf(s).Dispatch(late)
			// the same call again: with Once, it waits for the reply
			oncrpc.DispatcherOf(s).Dispatch(again)
			late.conn.Close()
			close(gate)
			<-first.reply
			if got := <-late.reply; got != nil {
				t.Errorf("once %v: the late call got %x, want no reply", once, got)
			}
			if got, want := <-again.reply, unhex(t, accepted+"00000000 00000001"); !bytes.Equal(got, want) {
				t.Errorf("once %v: got %x, want %x", once, got, want)
			}
			synctest.Wait()
			if st := s.Stats(); n.Load() != 1 || st.Dropped != 1 || st.InFlight != 0 {
				t.Errorf("once %v: %d executions, %+v", once, n.Load(), st)
			}
		})
	}
}

// A kept reply is valid for two minutes.
func TestOnceAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n counter
		s := newServer(t, oncrpc.ServerConfig{ReplyMemory: 2 * kept}, oncrpc.Procedure{Handler: n.handle, Once: true})
		for _, tt := range []struct {
			pause time.Duration
			want  uint32
		}{
			{0, 1},
			{2 * time.Minute, 1},
			{time.Nanosecond, 2},
			{2 * time.Minute, 2},
		} {
			time.Sleep(tt.pause)
			dispatchFrom(t, s, peerA, callBytes(1, 1))
			if got := n.Load(); got != tt.want {
				t.Errorf("after %v: %d executions, want %d", tt.pause, got, tt.want)
			}
		}
		// The expired reply is removed without removing the later one of the same key.
		dispatchFrom(t, s, peerA, callBytes(2, 1))
		dispatchFrom(t, s, peerA, callBytes(1, 1))
		if got := n.Load(); got != 3 {
			t.Errorf("%d executions, want 3", got)
		}
	})
}

// A handler that fails because its connection has ended is not logged as a failure of the server.
func TestEndedIsNoFailure(t *testing.T) {
	for _, ended := range []bool{false, true} {
		var log strings.Builder
		errPeer := errors.New("the peer is gone")
		s := newServer(t, oncrpc.ServerConfig{Logger: slog.New(slog.NewTextHandler(&log, nil))},
			oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
				if ended {
					c.Conn.Close()
				}
				return errPeer
			}})
		dispatch(t, s, callBytes(1, 1))
		if got := strings.Contains(log.String(), errPeer.Error()); got == ended {
			t.Errorf("connection ended %v: the log has %q", ended, &log)
		}
	}
}
