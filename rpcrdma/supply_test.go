package rpcrdma_test

import (
	"context"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestIdleHoldsNothing: many connections make as many calls as they may, and then none. All memory
// is in the pool again, whatever their peers may send.
func TestIdleHoldsNothing(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			const conns, calls = 50, 32
			cr := newManyClients(t, provider, conns, rpcrdma.Config{Credits: calls})
			if cr.meter.bytes != 0 {
				t.Errorf("%d bytes allocated for connections that have not been used",
					cr.meter.bytes)
			}
			for _, c := range cr.clients {
				together(t, c, calls)
				var conn *rpcrdma.Conn
				for range calls + 1 {
					conn = wait(t, cr.program.conns)
				}
				// Replies may still hold their receives.
				waitFor(t, func() bool { return cr.idle(conn) })
				if got := cr.ledgers.of(t, conn).state().Awaited; got != calls {
					t.Errorf("the peer of an idle connection may send %d messages, want %d", got,
						calls)
				}
			}
			// Never more than one connection needs: one for each credit, and one for each reply
			// being sent, until the next grant.
			if most := 2 * calls; cr.meter.mostRecv > most {
				t.Errorf("%d receives with memory at a time, %d are enough", cr.meter.mostRecv,
					most)
			}
		})
	}
}

// TestGrantsGoDown: one connection after the other keeps calls under way. The more memory they
// have, the less is granted to new ones. The last one can still make calls. When the calls have
// ended, the first grants come again.
func TestGrantsGoDown(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			const conns, credits = 16, 32
			cr := newManyClients(t, provider, conns,
				rpcrdma.Config{Credits: credits, ReceiveMemory: 4 * credits * testReceiveSize})
			var grants []int
			var blocked []chan error
			for _, c := range cr.clients {
				together(t, c, 1)
				grant, _, _ := c.Credits()
				grants = append(grants, grant)
				blocked = append(blocked, block(t, c))
				wait(t, cr.program.entered)
			}
			if grants[0] != credits {
				t.Errorf("granted %d at first, want %d", grants[0], credits)
			}
			if last := grants[conns-1]; last < 1 || last > 4 {
				t.Errorf("granted %d in the end, of %v, want very few", last, grants)
			}
			for range blocked {
				cr.program.pass(t) // any of them
			}
			for _, s := range blocked {
				if err := wait(t, s); err != nil {
					t.Error(err)
				}
			}
			c := cr.clients[conns-1]
			waitFor(t, func() bool { // replies may still hold their memory
				together(t, c, 1)
				grant, _, _ := c.Credits()
				return grant == credits
			})
			if most := 4*credits + (freeReceives+1)*conns; cr.meter.mostRecv > most {
				t.Errorf("%d receives with memory, want no more than %d", cr.meter.mostRecv, most)
			}
		})
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

// TestOverloadBounded: many connections send as many large calls as they may. The server's memory
// stays within its configuration: chunks within ServerMemory, messages within ReceiveMemory plus
// the few receives of each connection, and a Send for each call.
func TestOverloadBounded(t *testing.T) {
	for provider := range providers {
		t.Run(provider, func(t *testing.T) {
			const (
				conns, callers, calls = 16, 16, 2
				item, class           = 60_000, 1 << 16 // what an item takes of the pool
				chunkMemory           = 5 * 2 * rpcrdma.MaxInline
				receives              = 32
			)
			cr := newManyClients(t, provider, conns, rpcrdma.Config{
				Credits: callers, ReceiveMemory: receives * testReceiveSize,
				MaxMessage: rpcrdma.MaxInline, ConnMemory: chunkMemory, ServerMemory: chunkMemory,
			})
			data := pattern(1, item)
			var wg sync.WaitGroup
			for _, c := range cr.clients {
				together(t, c, 1)
				for range callers {
					wg.Go(func() {
						for range calls {
							// The second item is fetched into the server's memory.
							if err := client(c).Call(t.Context(), procSink, &items{data: [][]byte{{1}, data}}, nil); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
			}
			for range conns * callers * calls {
				if a := wait(t, cr.program.calls); len(a.data) != 2 || string(a.data[1]) != string(data) {
					t.Error("the data differs")
				}
			}
			hang.Wait(t, "the callers", &wg)
			messages := receives + (freeReceives+1)*conns
			most := chunkMemory/item*class + messages*(testReceiveSize+1<<10)
			if cr.meter.most > most {
				t.Errorf("%d bytes allocated at a time, want no more than %d", cr.meter.most, most)
			}
			t.Logf("%d bytes of %d", cr.meter.most, most)
		})
	}
}
