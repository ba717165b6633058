package rpcrdma_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestReceivesExhausted: many more connections make calls at the same time than there is memory
// for. Calls are short, long, or have bulk data to fetch, which comes after messages of the same
// connection. All calls are answered, no connection ends, and memory stays within its limits.
func TestReceivesExhausted(t *testing.T) {
	for provider := range providers {
		for _, receives := range []int64{0, 40} { // 0: not even one
			t.Run(fmt.Sprintf("%s/%d", provider, receives), func(t *testing.T) {
				const conns, credits, callers, calls = 12, 16, 12, 6
				seed := rand.Uint64()
				t.Logf("seed %#x", seed)
				const chunkMemory = 2 * rpcrdma.MaxInline
				cr := newManyClients(t, provider, conns, rpcrdma.Config{
					Credits: credits, ReceiveMemory: max(1, receives*testReceiveSize),
					MaxMessage: rpcrdma.MaxInline, ConnMemory: chunkMemory, ServerMemory: chunkMemory,
				})
				for _, c := range cr.clients {
					together(t, c, 1) // so that they may make many calls at once
				}
				var wg sync.WaitGroup
				var failed atomic.Int32
				for i, c := range cr.clients {
					for j := range callers {
						wg.Go(func() {
							r := rand.New(rand.NewPCG(seed, uint64(i*callers+j)))
							for range calls {
								sizes := []int{0, 100, 3000, 5000, 20_000, 40_000}
								args := &items{}
								for n := range r.IntN(3) {
									args.data = append(args.data, pattern(r.Uint64(), sizes[r.IntN(len(sizes)-n)]))
								}
								if err := echo(c, args, false); err != nil && failed.Add(1) == 1 {
									t.Error(err)
								}
							}
						})
					}
				}
				hang.Wait(t, "the callers", &wg)
				for _, c := range cr.clients {
					if err := c.Err(); err != nil {
						t.Error(err)
					}
				}
				// One connection may have all it needs, even beyond the limit. Each connection has
				// a few receives in any case. It has one more from the time a reply leaves, which
				// allows the next call, until that is recorded.
				most := max(int(receives), credits) + (freeReceives+1)*conns
				if cr.meter.mostRecv > most {
					t.Errorf("%d receives with memory at a time, want no more than %d",
						cr.meter.mostRecv, most)
				}
				// Chunks have at most twice ServerMemory, since classes of memory are powers of
				// two, and each receive may have a Send of a KiB.
				if most := 2*chunkMemory + most*(testReceiveSize+1<<10); cr.meter.most > most {
					t.Errorf("%d bytes allocated at a time, want no more than %d", cr.meter.most, most)
				}
			})
		}
	}
}

// TestBackNotHeldUp: connections with calls under way have all memory. The server calls a client
// over another one. The reply does not wait for memory. If a call of that client waits already, it
// goes on, because its message is ahead of the reply.
func TestBackNotHeldUp(t *testing.T) {
	for provider := range providers {
		for _, waits := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/a call waits %t", provider, waits), func(t *testing.T) {
				setup := newShort
				if waits {
					setup = newHeldUp
				}
				cr, conns, calls := setup(t, provider, 8)
				last := len(conns) - 1
				back := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
				back.Handle(newProgram().program())
				defer back.Close()
				cr.clients[last].Serve(back)
				before := conns[last].Stats().HeldUp
				called := make(chan error, 1)
				go func() { called <- client(conns[last]).Call(t.Context(), procNull, nil, nil) }()
				waitFor(t, func() bool {
					return len(called) > 0 || conns[last].Stats().HeldUp > before
				})
				if n := conns[last].Stats().HeldUp; n > before {
					t.Fatal("the reply was held up")
				}
				if waits {
					wait(t, cr.program.entered)
				}
				for range calls {
					cr.program.pass(t)
				}
				for _, call := range append(calls, called) {
					if err := wait(t, call); err != nil {
						t.Error(err)
					}
				}
				waitFor(t, func() bool {
					free, all, _ := conns[last].ReceiveMemory()
					return free == all
				})
			})
		}
	}
}

// newHeldUp is newShort with a call over the fourth connection, too, which waits for memory.
func newHeldUp(t *testing.T, provider string, credits int) (cr *manyClients, conns [4]*rpcrdma.Conn,
	calls []chan error) {
	t.Helper()
	cr, conns, calls = newShort(t, provider, credits)
	last := len(conns) - 1
	calls = append(calls, block(t, cr.clients[last]))
	waitFor(t, func() bool { return conns[last].Stats().HeldUp > 0 })
	return cr, conns, calls
}

// newShort has connections from four hosts. Three have a call under way each, and take all of the
// memory. It returns the server's ends of the connections, and the results of these calls. Each
// call passes the gate.
func newShort(t *testing.T, provider string, credits int) (cr *manyClients, conns [4]*rpcrdma.Conn,
	calls []chan error) {
	t.Helper()
	// Three connections have all memory that is not reserved for each: each makes a call, and may
	// make 7 more and the one after those.
	const full = len(conns) - 1
	cr = newManyClients(t, provider, 0, rpcrdma.Config{
		Credits:       credits,
		ReceiveMemory: int64(full*(credits+1-freeReceives)) * testReceiveSize,
	})
	cr.hosts.apart.Store(true)
	cr.join(len(conns))
	for i, c := range cr.clients {
		together(t, c, 1)
		for range 2 {
			conns[i] = wait(t, cr.program.conns)
		}
		for grant, _, _ := c.Credits(); grant < credits; grant, _, _ = c.Credits() {
			together(t, c, 0)
			wait(t, cr.program.conns)
		}
		waitFor(t, func() bool { return cr.idle(conns[i]) })
	}
	for i := range full {
		calls = append(calls, block(t, cr.clients[i]))
		wait(t, cr.program.entered)
	}
	return cr, conns, calls
}

// pass has a call of procBlock go on.
func (p *program) pass(t testing.TB) {
	t.Helper()
	select {
	case p.gate <- struct{}{}:
	case <-time.After(patience):
		t.Fatal("no call waits for the gate")
	}
}

// TestEndedHoldsLittle: a connection that has ended while its handler still runs keeps only the
// message of that call.
func TestEndedHoldsLittle(t *testing.T) {
	cr := newManyClients(t, "loopback", 1, rpcrdma.Config{Credits: 8})
	entered, release := make(chan struct{}), make(chan struct{})
	cr.server.Handle(oncrpc.Program{Number: testProgram, Version: 3, Procedures: []oncrpc.Procedure{
		1: {Name: "STUBBORN", Handler: func(context.Context, *oncrpc.Call) error {
			close(entered)
			<-release
			return nil
		}},
	}})
	together(t, cr.clients[0], 8)
	var conn *rpcrdma.Conn
	for range 8 {
		conn = wait(t, cr.program.conns)
	}
	go func() {
		_ = oncrpc.NewClient(cr.clients[0], testProgram, 3, oncrpc.AuthNone()).Call(t.Context(), 1,
			nil, nil)
	}()
	wait(t, entered)
	used := func() int64 {
		free, all, _ := conn.ReceiveMemory()
		return all - free
	}
	if used := used(); used <= testReceiveSize {
		t.Errorf("%d bytes are reserved for a busy connection", used)
	}
	cr.clients[0].Close()
	hang.Receive(t, "the end of the connection", conn.Done())
	if used := used(); used != testReceiveSize {
		t.Errorf("%d bytes are reserved for a connection that has ended, want %d", used,
			testReceiveSize)
	}
	close(release)
	waitFor(t, func() bool { return used() == 0 })
}
