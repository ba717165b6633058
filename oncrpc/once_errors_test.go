package oncrpc_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// An error is not kept: the next copy is executed, even if it arrived while the first was being
// executed.
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
				dispatchIn(s, first)
				if waits {
					dispatchIn(s, second)
				}
				close(open)
				failure := <-first.reply
				if !waits {
					dispatchIn(s, second)
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
					dispatchIn(s, second) // answered from the cache now
				}
				<-second.reply
				if n.Load() != 2 || s.Stats().Replayed != 2 {
					t.Errorf("%s: %d executions, stats %+v", tt.name, n.Load(), s.Stats())
				}
			})
		}
	}
}

// A denial by a program is not kept either.
func TestOnceAuthorize(t *testing.T) {
	var n counter
	deny := true
	s := newServer(t, oncrpc.ServerConfig{})
	s.Replace(oncrpc.Program{Number: testProgram, Version: testVersion,
		Procedures: []oncrpc.Procedure{{}, {Handler: n.handle, NonBlocking: true, Once: true}},
		Authorize: func(ctx context.Context, _ *oncrpc.Call) (context.Context, error) {
			if deny {
				return nil, &oncrpc.AuthError{Stat: oncrpc.AuthTooWeak}
			}
			return ctx, nil
		}})
	call := callBytes(0x01020304, 1)
	dispatchFrom(t, s, peerA, call)
	deny = false
	if got, want := dispatchFrom(t, s, peerA, call), unhex(t, accepted+"00000000 00000001"); !bytes.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

// chunkSource is a peer whose chunk does not arrive before its connection ends.
type chunkSource struct{ started chan struct{} }

func (c *chunkSource) Fetch(ctx context.Context, _, _ int, _ [][]byte, _ xdr.BulkWatcher) error {
	close(c.started)
	<-ctx.Done()
	return ctx.Err()
}

func (c *chunkSource) Load(ctx context.Context, id, n int, _ bool, _ xdr.BulkWatcher) ([]byte,
	xdr.Releaser, error) {
	return nil, nil, c.Fetch(ctx, id, n, nil, nil)
}

// A call whose connection ends while its arguments are fetched is not executed. Its copy over
// another connection is.
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
			dispatchIn(s, lost)
			<-source.started
			if waits {
				dispatchIn(s, again)
			}
			lost.conn.Close()
			<-lost.reply
			if !waits {
				dispatchIn(s, again)
			}
			if got, want := <-again.reply, unhex(t, accepted+"00000000 00000001"); !bytes.Equal(got, want) {
				t.Errorf("got %x, want %x", got, want)
			}
		})
	}
}
