package rpcrdma_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// large asks for a result of 1 MiB, which goes to the buffer that is returned.
func (p *rawPeer) large(xid uint32) []byte {
	const size = 1 << 20
	b := make([]byte, size)
	h := header(xid, rpcrdma.TypeMsg)
	h.Writes = []chunks.WriteChunk{{p.expose(b, transport.RemoteWrite)}}
	p.send(h, callBytes(xid, procSource, &source{1, size}))
	return b
}

// TestBulkIsOvertaken asks for large replies while the first of them is under way, and then for
// a small one. The small one comes at once. The others come one by one.
func TestBulkIsOvertaken(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p, e, _ := newMoving(t, rpcrdma.Config{})
		e.slow.Store(true)
		want := pattern(0, 1<<20)
		var got [][]byte
		for xid := range uint32(3) {
			got = append(got, p.large(1+xid))
		}
		p.send(header(9, rpcrdma.TypeMsg), callBytes(9, procNull, nil))
		for _, xid := range []uint32{1, 9} {
			if h, _ := p.next(); h.XID != xid {
				t.Fatalf("reply to call %d, want %d", h.XID, xid)
			}
		}
		first, small := wait(t, e.held), wait(t, e.held)
		small()
		first()
		for _, xid := range []uint32{2, 3} {
			if h, _ := p.next(); h.XID != xid {
				t.Fatalf("reply to call %d, want %d", h.XID, xid)
			}
			wait(t, e.held)()
		}
		for i := range got {
			if !bytes.Equal(got[i], want) {
				t.Errorf("the result of call %d differs", 1+i)
			}
		}
	})
}

// TestBulkWaitsAtTheEnd ends a connection while large replies wait: their data is given back.
func TestBulkWaitsAtTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p, e, r := newMovingRig(t, rpcrdma.Config{})
		conn := wait(t, r.program.conns)
		e.slow.Store(true)
		for xid := range uint32(3) {
			p.large(1 + xid)
		}
		p.next()
		held := wait(t, e.held)
		e.slow.Store(false)
		conn.Close()
		held()
		ended(t, conn)
		if err := conn.Err(); errors.Is(err, rpcrdma.ErrStalled) {
			t.Error(err)
		}
		for range 3 {
			wait(t, r.program.freed)
		}
	})
}
