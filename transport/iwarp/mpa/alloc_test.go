//go:build !race

package mpa

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// Sending and receiving allocate nothing in the steady state. This does not hold with the race
// detector: sync.Pool then drops items at random, and memory is copied before it is sent.
func TestAllocs(t *testing.T) {
	for _, options := range []ConnOptions{{}, {CRC: true}, {MarkersIn: true, MarkersOut: true}, {CRC: true, MarkersIn: true, MarkersOut: true}} {
		a, peer := newConn(t, options)
		b := connOver(t, peer, options)
		o := &outbox{Conn: a}
		var (
			small, large = text(100, 0), text(20000, 0)
			header       = []byte("fourteen bytes")
			list         = []transport.Slice{{Bytes: small}, {Bytes: large}, {Bytes: small}}
			got          tally
			sent         = 0
		)
		send := func() {
			for range 3 {
				p := ddp.Payload{List: list}
				o.Append(header, &p, 20200, 1)
				sent++
			}
			if err := o.send(); err != nil {
				t.Fatal(err)
			}
			for got.n < sent {
				if err := b.Receive(&got); err != nil {
					t.Fatal(err)
				}
			}
		}
		for range 100 {
			send() // the pools fill
		}
		if n := testing.AllocsPerRun(500, send); n >= 1 {
			t.Errorf("CRC %t, markers %t: got %v allocations, want none", options.CRC, options.MarkersIn, n)
		}
	}
}
