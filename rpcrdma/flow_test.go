package rpcrdma_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestGranted: a server grants what is asked for, but at least one and at most its limit. Posted
// receives cannot be recalled, so their number decreases with each call.
func TestGranted(t *testing.T) {
	inBothDialects(t, func(t *testing.T, d rpcrdma.Dialect) {
		r := newRig(t, rpcrdma.Config{Credits: 16, Dialect: d})
		p := r.raw(inline4k)
		p.sendCall(0, procNull, 16)
		p.next()
		l, posted := r.ledgers.of(t, wait(t, r.program.conns)), 16
		for i, tt := range []struct{ asked, want uint32 }{
			{5, 5}, {0, 1}, {16, 16}, {17, 16}, {1 << 31, 16}, {2, 2}, {3, 3}, {0xffffffff, 16},
		} {
			p.sendCall(uint32(i), procNull, tt.asked)
			if got, _ := p.next(); got.Credits != tt.want {
				t.Errorf("asked for %d: granted %d, want %d", tt.asked, got.Credits, tt.want)
			}
			posted = max(int(tt.want), posted-1)
			if got := l.state().Awaited; got != posted {
				t.Errorf("%d receives posted, want %d", got, posted)
			}
		}
	})
}

// TestGrantsFollowMemory: calls of a client wait for the server's memory, and the grant shrinks. It
// grows when there is memory again.
func TestGrantsFollowMemory(t *testing.T) {
	inBothDialects(t, func(t *testing.T, d rpcrdma.Dialect) {
		cfg := smallShare
		cfg.Dialect, cfg.Credits, cfg.ServerMemory = d, 32, 1<<20
		r := newRig(t, cfg)
		c := r.dial(rpcrdma.Config{Dialect: d, Credits: 32})
		together(t, c, 0)
		conn := wait(t, r.program.conns)
		blocked := make(chan error, 6)
		for range cap(blocked) {
			go func() { // each needs most of the memory of a connection
				args := &items{data: [][]byte{make([]byte, third)}}
				blocked <- client(c).Do(t.Context(), &oncrpc.Request{Procedure: procBlock,
					Args: args, Reply: &items{}, MaxReply: third + 100})
			}()
		}
		wait(t, r.program.entered)
		waitFor(t, func() bool { return conn.Stats().Waited == 5 })
		together(t, c, 0)
		if grant, inFlight, _ := c.Credits(); grant != 2 || inFlight != 6 {
			t.Errorf("a grant of %d with %d calls under way, of which one has memory: want 2 and 6",
				grant, inFlight)
		}
		close(r.program.gate)
		for range cap(blocked) {
			if err := wait(t, blocked); err != nil {
				t.Error(err)
			}
		}
		together(t, c, 0)
		if grant, inFlight, waiting := c.Credits(); grant != 32 || inFlight+waiting != 0 {
			t.Errorf("Credits() = %d, %d, %d in the end, want 32, 0, 0", grant, inFlight, waiting)
		}
	})
}
