package rpcrdma_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestGrantsMove: a server lowers, raises and keeps the grant while hundreds of calls run. Exactly
// as many are on the wire as it allows: not fewer, because some always wait.
func TestGrantsMove(t *testing.T) {
	cycle := func(n int, grants ...int) []int { return slices.Repeat(grants, n) }
	tests := []struct {
		name   string
		grants []int
		most   int
	}{
		{"held at one", cycle(300, 1), 1},
		{"held at zero", cycle(300, 0), 1},
		{"raised and lowered", slices.Concat(cycle(3, 64), cycle(80, 3), cycle(100, 1), cycle(20, 0), cycle(30, 7), cycle(80, 64), cycle(66, 2)), 64},
		{"to and fro", slices.Concat(cycle(80, 64, 3), cycle(40, 0, 64), cycle(40, 1, 2, 9)), 64},
		{"beyond what was asked for", cycle(100, 1000, 1<<31-1, 65), 64},
		{"one at a time", func() (g []int) {
			for i := range 64 {
				g = append(g, cycle(2, i)...)
			}
			for i := range 64 {
				g = append(g, cycle(2, 64-i)...)
			}
			return g
		}(), 64},
	}
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%v/%s", d, tt.name), func(t *testing.T) {
				c, m := newGrantMeter(t, rpcrdma.Config{Dialect: d})
				var callers sync.WaitGroup
				errs := make(chan error, len(tt.grants))
				for range len(tt.grants) {
					callers.Go(func() { errs <- echo(c, &items{tail: 7}, false) })
				}
				// The remaining calls keep the window full.
				for i, grant := range tt.grants {
					left := len(tt.grants) - i - len(m.open)
					m.take(min(left, max(0, max(1, m.limit)-len(m.open))))
					m.answer(i*7%len(m.open), grant, 64)
				}
				hang.Wait(t, "the callers", &callers)
				for range cap(errs) {
					if err := hang.Receive(t, "the end of a call", errs); err != nil {
						t.Error(err)
					}
				}
				m.check(tt.most)
				grant, inFlight, waiting := c.Credits()
				if want := min(64, tt.grants[len(tt.grants)-1]); grant != want || inFlight != 0 || waiting != 0 {
					t.Errorf("Credits() = %d, %d, %d in the end, want %d, 0, 0", grant, inFlight,
						waiting, want)
				}
				if got := c.Stats(); got.CallsSent != uint64(len(tt.grants)) || got.UnknownXID+got.Malformed > 0 {
					t.Errorf("counters %+v", got)
				}
			})
		}
	}
}

// TestWindowLowered lowers the grant below the number of calls under way. No call is sent until
// enough of them are answered.
func TestWindowLowered(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			c, m := newGrantMeter(t, rpcrdma.Config{Dialect: d})
			errs := make(chan error, 40)
			for range cap(errs) {
				go func() { errs <- echo(c, &items{tail: 7}, false) }()
			}
			m.take(1)
			waitFor(t, func() bool { _, _, waiting := c.Credits(); return waiting == 39 })
			m.answer(0, 16, 64)
			wait(t, errs)
			m.take(16)
			for range 13 {
				m.answer(0, 3, 64)
				wait(t, errs)
			}
			if grant, inFlight, waiting := c.Credits(); grant != 3 || inFlight != 3 || waiting != 40-1-16 {
				t.Errorf("Credits() = %d, %d, %d, want 3, 3, %d", grant, inFlight, waiting, 40-1-16)
			}
			if got := c.Stats().CallsSent; got != 17 {
				t.Errorf("%d calls sent, want 17", got)
			}
			m.answer(0, 3, 64)
			m.take(1)
			for left := 40 - 18; left > 0; left-- {
				m.answer(0, 3, 64)
				m.take(1)
			}
			for range 3 {
				m.answer(0, 3, 64)
			}
			for range 40 - 14 {
				if err := wait(t, errs); err != nil {
					t.Error(err)
				}
			}
			m.check(16)
		})
	}
}

// TestRealGrants: a client asks for some credits and a server has some. There are never more calls
// in handlers, or more receives posted, than the smaller of both.
func TestRealGrants(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		for _, tt := range []struct{ server, client, want int }{{1, 64, 1}, {64, 1, 1}, {64, 5, 5}, {3, 64, 3}, {200, 100, 100}} {
			t.Run(fmt.Sprintf("%v/server %d client %d", d, tt.server, tt.client), func(t *testing.T) {
				r := newRig(t, rpcrdma.Config{Dialect: d, Credits: tt.server})
				c := r.dial(rpcrdma.Config{Dialect: d, Credits: tt.client})
				if err := client(c).Call(context.Background(), procNull, nil, nil); err != nil {
					t.Fatal(err)
				}
				conn := wait(t, r.program.conns)
				const callers, calls = 40, 10
				errs := make(chan error, callers)
				for i := range callers {
					go func() {
						var err error
						for range calls {
							err = errors.Join(err,
								echo(c, &items{data: [][]byte{pattern(uint64(i), 100)}}, false))
						}
						errs <- err
					}()
				}
				for range callers {
					if err := wait(t, errs); err != nil {
						t.Error(err)
					}
				}
				l := r.ledgers.of(t, conn)
				l.mu.Lock()
				most := l.most
				l.mu.Unlock()
				if most.active > tt.want || most.posted > tt.want {
					t.Errorf("%d calls active at a time, %d receives for calls active and to come, want %d", most.active, most.posted, tt.want)
				}
				if grant, inFlight, waiting := c.Credits(); grant != tt.want || inFlight != 0 || waiting != 0 {
					t.Errorf("Credits() = %d, %d, %d, want %d, 0, 0", grant, inFlight, waiting,
						tt.want)
				}
			})
		}
	}
}

// TestReceivesShrink: a client asks for fewer credits. Posted receives cannot be recalled, so their
// number decreases with each call.
func TestReceivesShrink(t *testing.T) {
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Dialect: d})
			p := r.raw(inline4k)
			call := func(xid, asked uint32) {
				h := header(xid, rpcrdma.TypeMsg)
				h.Credits = asked
				p.send(h, callBytes(xid, procNull, nil))
				if got, _ := p.next(); got.Credits != asked {
					t.Fatalf("granted %d, want %d", got.Credits, asked)
				}
			}
			call(1, 64)
			conn := wait(t, r.program.conns)
			posted := func() int { return r.ledgers.of(t, conn).state().Awaited }
			if got := posted(); got != 64 {
				t.Fatalf("%d receives posted, want 64", got)
			}
			for i := range uint32(70) {
				call(2+i, 5)
				if got, want := posted(), max(5, 63-int(i)); got != want {
					t.Fatalf("%d receives posted after %d calls, want %d", got, i+1, want)
				}
			}
			call(100, 20)
			if got := posted(); got != 20 {
				t.Errorf("%d receives posted in the end, want 20", got)
			}
		})
	}
}

// TestGrantsFollowMemory: calls of a client wait for the server's memory. The grant shrinks, and
// further calls wait at the client. All continue when there is memory again.
func TestGrantsFollowMemory(t *testing.T) {
	const size = 64 << 10
	for _, d := range []rpcrdma.Dialect{rpcrdma.RFC8166, rpcrdma.Draft} {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t, rpcrdma.Config{Dialect: d, MaxMessage: size, ConnMemory: 2 * size, ServerMemory: 2 * size, Credits: 32})
			c := r.dial(rpcrdma.Config{Dialect: d, Credits: 32})
			ctx := context.Background()
			null := func() error { return client(c).Call(ctx, procNull, nil, nil) }
			if err := null(); err != nil {
				t.Fatal(err)
			}
			conn := wait(t, r.program.conns)
			blocked := make(chan error, 6)
			for range cap(blocked) { // each needs most of the memory
				go func() {
					blocked <- client(c).Do(ctx, &oncrpc.Request{Procedure: procBlock, Args: &items{data: [][]byte{make([]byte, 60_000)}}, Reply: &items{}, MaxReply: 60_100})
				}()
			}
			wait(t, r.program.entered)
			waitFor(t, func() bool { return conn.Stats().Waited == 5 })
			if err := null(); err != nil {
				t.Fatal(err)
			}
			if grant, inFlight, _ := c.Credits(); grant != 2 || inFlight != 6 {
				t.Errorf("a grant of %d with %d calls under way, of which one has memory: want 2 and 6", grant, inFlight)
			}
			sent := c.Stats().CallsSent
			more := make(chan error, 10)
			for range cap(more) {
				go func() { more <- null() }()
			}
			waitFor(t, func() bool { _, _, waiting := c.Credits(); return waiting == cap(more) })
			if got := c.Stats().CallsSent; got != sent {
				t.Errorf("%d calls sent beyond the grant", got-sent)
			}
			close(r.program.gate)
			for range cap(blocked) {
				if err := wait(t, blocked); err != nil {
					t.Error(err)
				}
			}
			for range cap(more) {
				if err := wait(t, more); err != nil {
					t.Error(err)
				}
			}
			if err := null(); err != nil {
				t.Fatal(err)
			}
			if grant, inFlight, waiting := c.Credits(); grant != 32 || inFlight != 0 || waiting != 0 {
				t.Errorf("Credits() = %d, %d, %d in the end, want 32, 0, 0", grant, inFlight,
					waiting)
			}
		})
	}
}
