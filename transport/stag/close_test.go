package stag

import (
	"net"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestRevokeDuringClose checks that Revoke and Abandon wait for a copy under way while the table closes, too.
func TestRevokeDuringClose(t *testing.T) {
	ops := map[string]func(*Table, transport.Region){
		"revoke":  func(tb *Table, r transport.Region) { tb.Revoke(r) },
		"abandon": func(tb *Table, r transport.Region) { tb.Abandon(r) },
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			tb := New(10, nil)
			mem := make([]byte, 100)
			r, err := tb.Expose([]transport.Slice{{Bytes: mem}}, transport.RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			e, err := tb.acquire(r.STag) // a copy is under way
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(tb.Close)
			for closed := false; !closed; {
				tb.mu.Lock()
				closed = tb.closed
				tb.mu.Unlock()
			}
			wg.Go(func() {
				op(tb, r)
				clear(mem) // the race detector minds if it came too early
			})
			mem[0] = 1
			e.mu.Unlock()
			wg.Wait()
		})
	}
}

// TestExposeDuringClose checks that a window does not begin behind the back of Close: nobody would wait for copies to it.
func TestExposeDuringClose(t *testing.T) {
	tb := New(1, nil)
	tb.mu.Lock()
	e := tb.take() // as Expose does; then it loses the processor
	tb.mu.Unlock()
	tb.Close()
	r, err := e.open(listOf(make([]byte, 1)), transport.RemoteWrite, 0)
	wantErr(t, err, net.ErrClosed)
	if r != (transport.Region{}) || e.tag != 0 {
		t.Errorf("got window %+v, want none", r)
	}
}
