package simulation

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// numbered makes calls with XIDs of its own choice.
type numbered struct {
	*rpcrdma.Conn
	xid uint32
}

func (n numbered) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	x.XID = n.xid
	return n.Conn.RoundTrip(ctx, x)
}

// TestCopies repeats calls over other connections while the original connections are alive, like a
// client that takes a slow server for dead. Each call is executed once. Every copy is answered,
// even those of calls given up, so no credit stays in use.
func TestCopies(t *testing.T) {
	eachSeed(t, 4, func(t *testing.T, seed uint64) {
		const calls = 10
		r := rand.New(rand.NewPCG(seed, 2))
		l := newLoaded(t, seed, faultnet.Way{Delay: time.Millisecond})
		cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "client"})
		if err != nil {
			t.Fatal(err)
		}
		var conns []*rpcrdma.Conn
		for range 3 + r.IntN(6) {
			conn, err := l.dial(t.Context(), 0)
			if err != nil {
				t.Fatal(err)
			}
			// The first reply grants the credits.
			if err := nfsclient.New(conn, cred).Null(t.Context()); err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
		}
		var all sync.WaitGroup
		for n := range uint32(calls) {
			p := heldArgs(make([]byte, 1+r.IntN(64<<10)))
			for i := range p {
				p[i] = byte(n)
			}
			for _, conn := range conns {
				wait := time.Duration(r.IntN(200)) * time.Millisecond
				limit := time.Hour
				if r.IntN(4) == 0 {
					limit = time.Duration(r.IntN(200)) * time.Millisecond
				}
				all.Go(func() {
					time.Sleep(wait)
					ctx, cancel := context.WithTimeout(t.Context(), limit)
					defer cancel()
					c := oncrpc.NewClient(numbered{conn, 1 + n}, holdingProgram, 1, cred)
					err := c.Do(ctx, &oncrpc.Request{Procedure: 2, Args: p})
					if limit < time.Hour && errors.Is(err, context.DeadlineExceeded) {
						return
					}
					if err != nil {
						t.Errorf("call %d: %v", n, err)
					}
				})
			}
		}
		all.Wait()
		time.Sleep(time.Minute)
		if got := l.holding.calls.Load(); got != calls {
			t.Errorf("%d calls were executed %d times", calls, got)
		}
		for i, conn := range conns {
			if _, inUse, _ := conn.Credits(); inUse != 0 || conn.Err() != nil {
				t.Errorf("connection %d: %d credits are in use; it has ended by: %v",
					i, inUse, conn.Err())
			}
			conn.Close()
			<-conn.Done()
			checkPeer(t, conn, l.dialect)
		}
		l.stop()
	})
}
