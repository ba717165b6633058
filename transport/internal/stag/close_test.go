package stag

import (
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
