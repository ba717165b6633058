//go:build !race

package redial_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// ready is a connection that answers at once.
type ready struct {
	*fakeConn
	reply []byte
}

func (r *ready) RoundTrip(_ context.Context, x *oncrpc.Exchange) error {
	x.SetReply(r.reply, nil, nil)
	return nil
}

// Credits returns fixed numbers.
func (r *ready) Credits() (grant, inUse, waiting int) { return 64, 7, 0 }

// A call does not allocate, apart from its connection.
func TestAllocations(t *testing.T) {
	for _, conns := range []int{1, 4} {
		c, err := redial.New(t.Context(), func(context.Context) (oncrpc.Transport, error) {
			return &ready{newFakeConn("ready"), reply(0)}, nil
		}, redial.Config{Conns: conns})
		if err != nil {
			t.Fatal(err)
		}
		x := exchange(true)
		if n := testing.AllocsPerRun(1000, func() {
			if err := c.RoundTrip(context.Background(), x); err != nil {
				t.Fatal(err)
			}
		}); n > 0 {
			t.Errorf("%d connections: %v allocations a call, want none", conns, n)
		}
		c.Close()
		<-c.Done()
	}
}
