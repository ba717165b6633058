package rpcrdma_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// TestManyNeverDone: many clients each leave one reply unread and send no RDMA_DONE. Each may have
// one pinned reply in any case, so they fill the server's memory several times (rpcrdma-11-8). A
// call of another client that needs no memory is answered at once. One that needs some waits until
// the others' time has run out. Then all memory is free again.
func TestManyNeverDone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		cfg := smallShare
		cfg.PeerTimeout = time.Hour
		r := newRig(t, cfg)
		const many = 10
		var silent []*rpcrdma.Conn
		for range many {
			p := r.raw(inline4k)
			p.alive()
			silent = append(silent, wait(t, r.program.conns))
			p.ask(1)
			if h, _ := p.next(); len(h.Reads) != 1 {
				t.Fatalf("answer %+v, want a reply to be read", h)
			}
		}
		began := time.Now()
		good := r.raw(inline4k)
		good.alive()
		if waited := time.Since(began); waited > 0 {
			t.Errorf("a call that needs no memory waited for %v", waited)
		}
		rc := newReadCall(good, 7, false, third)
		good.send(rc.h, rc.body)
		quarters(3)
		if len(r.program.calls) > 0 {
			t.Error("a call has memory while there is none")
		}
		r.notFreed()
		quarters(2)
		r.freed(many)
		h, body := good.next()
		if h.XID != 7 || h.Type != rpcrdma.TypeMsg || !bytes.Equal(body, replyHeader(7)) {
			t.Errorf("answer %+v to the call that needs memory", h)
		}
		if got := wait(t, r.program.calls); !bytes.Equal(got.data[0], rc.want.data[0]) {
			t.Error("its arguments differ")
		}
		for _, c := range silent {
			if got := c.Stats(); got.DonesMissed != 1 {
				t.Errorf("counters of a silent client %+v", got)
			}
		}
		r.memoryBack(good)
	})
}
