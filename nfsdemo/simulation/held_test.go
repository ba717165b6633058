package simulation

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// TestLeaveWhileHeld has clients stop amid the arguments of their calls, which occupies all of the
// server's memory for receives. Calls of other clients wait. Waiting clients that leave are noticed
// at once; those that stay get their replies in the end.
func TestLeaveWhileHeld(t *testing.T) {
	const (
		credits = 16
		// Memory for six connections at a time, or twice as many where calls take less.
		memory  = 6 * (credits + 1) * 4 << 10
		busy    = 18
		leaving = 4
		hosts   = busy + leaving + 4
	)
	eachSeed(t, 2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 6))
		l := newLoadedWith(t, seed, faultnet.Way{Delay: time.Millisecond}, rpcrdma.Config{
			Credits: credits, ReceiveMemory: memory,
		})
		var conns []*rpcrdma.Conn
		var all sync.WaitGroup
		call := func(n int, procedure uint32, args oncrpc.Marshaler, fails bool) {
			c := oncrpc.NewClient(conns[n], holdingProgram, 1, nil)
			err := c.Do(t.Context(), &oncrpc.Request{Procedure: procedure, Args: args})
			if err != nil != fails {
				t.Errorf("procedure %d for client %d: %v", procedure, n, err)
			}
		}
		for n := range hosts {
			conn, err := l.dial(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
			call(n, 0, nil, false)
		}
		time.Sleep(time.Minute) // idle connections use no memory
		links := l.net.Links()
		for n := range hosts {
			if n < busy { // stop after the call, amid its arguments
				at := passed(links[n], faultnet.Up) + 1000 + r.Int64N(8<<10)
				links[n].FreezeAt(faultnet.Up, at)
				all.Go(func() { call(n, 1, heldArgs(make([]byte, 16<<10)), false) })
			} else {
				all.Go(func() { call(n, 0, nil, n < busy+leaving) })
			}
			time.Sleep(100 * time.Millisecond)
		}
		for n := busy; n < busy+leaving; n++ {
			conns[n].Close()
		}
		time.Sleep(time.Second)
		if got := l.server.Stats().Conns; got != hosts-leaving {
			t.Errorf("the server has %d connections, and %d clients are left", got, hosts-leaving)
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			all.Wait()
		}()
		// The waiting clients reach their stopping point one after another.
		for more := true; more; {
			for _, link := range links {
				link.Thaw(faultnet.Up)
			}
			select {
			case <-answered:
				more = false
			case <-time.After(time.Second):
			}
		}
		for _, conn := range conns {
			conn.Close()
			<-conn.Done()
		}
		l.stop()
	})
}
