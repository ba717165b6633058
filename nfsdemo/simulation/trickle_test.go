package simulation

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// TestTrickle has many clients write and read over links that pass a few bytes at a time, so that
// most connections stop inside an FPDU. The total memory allocated grows linearly with the bytes.
func TestTrickle(t *testing.T) {
	const (
		hosts = 100 // more connections than may hold a whole buffer inside an FPDU
		size  = 64 << 10
	)
	eachSeed(t, 1, func(t *testing.T, seed uint64) {
		l := newLoaded(t, seed, faultnet.Way{
			Bandwidth: 125_000, Delay: time.Millisecond, MaxSegment: 100,
		})
		var conns []*rpcrdma.Conn
		var clients []loadedClient
		for n := range hosts {
			conn, err := l.dial(t.Context(), n)
			if err != nil {
				t.Fatal(err)
			}
			conns = append(conns, conn)
			clients = append(clients, l.mount(n, conn))
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var all sync.WaitGroup
		for n, c := range clients {
			all.Go(func() {
				o, err := c.Create(t.Context(), c.root, fmt.Sprint("file", n), nfs3.CreateHow{})
				if err != nil {
					t.Error(err)
					return
				}
				p := contents(uint64(n), size)
				if _, err := c.Write(t.Context(), o.File, 0, p, nfs3.FileSync); err != nil {
					t.Error(err)
				}
				if _, err := c.Read(t.Context(), o.File, 0, p); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		runtime.ReadMemStats(&after)
		// The in-memory network splits data into pieces of 100 bytes, which are copied several
		// times.
		if got, most := after.TotalAlloc-before.TotalAlloc, uint64(80*hosts*size); got > most {
			t.Errorf("%d bytes were allocated, want no more than %d", got, most)
		}
		for _, conn := range conns {
			conn.Close()
			<-conn.Done()
		}
		l.stop()
	})
}
