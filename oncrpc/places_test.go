package oncrpc_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// With one place, the handler of the first call waits for its peer, and a waiting call starts at
// once. The first continues when that call has ended, although the worker that ran it still exists.
func TestPlaceOfWaitingHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d oncrpc.Dispatcher
		waits, answer, goOn := make(chan struct{}), make(chan struct{}), make(chan struct{})
		var steps []string // of one handler at a time: no lock needed
		s := newServer(t, oncrpc.ServerConfig{MaxConcurrent: 1},
			oncrpc.Procedure{Handler: func(_ context.Context, c *oncrpc.Call) error {
				if c.XID == 0 {
					<-waits
					c.BeginWait()
					<-answer
					c.EndWait()
					steps = append(steps, "the first goes on")
					return nil
				}
				steps = append(steps, "another begins")
				<-goOn
				return nil
			}})
		d = oncrpc.DispatcherOf(s)
		var ins []*incoming
		arrive := func() {
			xid := uint32(len(ins))
			ins = append(ins, newIncoming(t, callBytes(xid, 1, xid)))
			d.Dispatch(ins[xid])
			synctest.Wait()
		}
		expect := func(when string, want ...string) {
			t.Helper()
			synctest.Wait()
			if !slices.Equal(steps, want) {
				t.Fatalf("%s: %q, want %q", when, steps, want)
			}
		}
		arrive()
		arrive()
		expect("one place, and a handler that does not wait for its peer")
		close(waits)
		expect("the handler waits for its peer", "another begins")
		close(goOn)
		<-ins[1].reply
		expect("the other call has been answered", "another begins")
		close(answer)
		expect("the peer has answered", "another begins", "the first goes on")
		<-ins[0].reply
		arrive()
		expect("both have been answered",
			"another begins", "the first goes on", "another begins")
		<-ins[2].reply
	})
}
