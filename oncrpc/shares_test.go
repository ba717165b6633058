package oncrpc_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// Shares whose handlers hang, first one and then a second, leave places for others, and all calls
// are executed in the end. A call's share is the number of its procedure.
func TestShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 16
		var mu sync.Mutex
		running := make(map[uint32]int)
		ends := make(map[uint32]chan struct{})
		procs := make([]oncrpc.Procedure, 6)
		for i := range procs {
			ends[uint32(i)] = make(chan struct{})
			procs[i].Handler = func(_ context.Context, c *oncrpc.Call) error {
				p := c.Procedure
				mu.Lock()
				running[p]++
				mu.Unlock()
				<-ends[p]
				mu.Lock()
				running[p]--
				mu.Unlock()
				return nil
			}
		}
		s := oncrpc.NewServer(oncrpc.ServerConfig{MaxConcurrent: limit})
		if err := s.Handle(oncrpc.Program{
			Number: testProgram, Version: testVersion, Procedures: procs,
			Share: func(c *oncrpc.Call) uint64 { return uint64(c.Procedure) },
		}); err != nil {
			t.Fatal(err)
		}
		d := oncrpc.DispatcherOf(s)
		var ins []*incoming
		arrive := func(proc uint32, calls int) {
			for range calls {
				in := newIncoming(t, callBytes(uint32(len(ins)), proc, 0))
				ins = append(ins, in)
				d.Dispatch(in)
			}
			synctest.Wait()
		}
		expect := func(when string, want ...int) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			var got []int
			for p := range want {
				got = append(got, running[uint32(p+1)])
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: %v run, want %v", when, got, want)
			}
		}
		arrive(1, 40)
		expect("a share alone", 12, 0, 0)
		arrive(2, 40)
		expect("a second one", 12, 3, 0)
		arrive(3, 40)
		expect("a third one", 12, 3, 1)
		for range 4 {
			ends[3] <- struct{}{}
			synctest.Wait()
			expect("a call of the third has ended, and another began", 12, 3, 1)
		}
		close(ends[1])
		synctest.Wait()
		expect("the first goes on", 0, 7, 7)
		close(ends[2])
		close(ends[3])
		for _, in := range ins {
			<-in.reply
		}
		expect("the end", 0, 0, 0)
		s.Close()
	})
}
