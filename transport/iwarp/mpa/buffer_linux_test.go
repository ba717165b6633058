//go:build !mpaportable

package mpa

import (
	"testing"
)

// look makes c try to read when there is nothing to read.
func look(t *testing.T, c *Conn) {
	t.Helper()
	if c.in.sink == nil {
		c.in.sink = new(collector)
	}
	in := c.in.sys.(*rawInput)
	var came bool
	if err := in.raw.Control(func(fd uintptr) { came = in.try(fd) }); err != nil || came {
		t.Fatalf("got something to read: %v, %d bytes", err, in.n)
	}
}

// A connection has a buffer only while it has something to keep in it.
func TestIdleHoldsNoBuffer(t *testing.T) {
	_, stream := streamOf(true, 14, 15)
	c, peer := newConn(t, ConnOptions{CRC: true})
	look(t, c)
	if c.in.buf != nil {
		t.Error("a new connection has a buffer")
	}
	var got collector
	write(t, peer, stream)
	receiveUntil(t, c, &got, len(stream))
	look(t, c)
	if c.in.buf != nil {
		t.Error("a connection between FPDUs has a buffer")
	}
	write(t, peer, stream[:1])
	receiveUntil(t, c, &got, len(stream)+1)
	look(t, c)
	if !c.in.whole() || !c.in.kept || kept.Load() != 1 {
		t.Errorf("in the middle of an FPDU: got buffer %t, kept %t, %d in all", c.in.whole(), c.in.kept, kept.Load())
	}
	c.Close(false)
	if c.in.buf != nil || kept.Load() != 0 {
		t.Errorf("closed: got buffer %t, %d kept in all", c.in.buf != nil, kept.Load())
	}
}

// More connections wait in the middle of an FPDU than may keep a buffer.
func TestManyWait(t *testing.T) {
	const conns, rounds = maxKept + 6, 3
	ulpdus, stream := streamOf(true, 14, 500, 1442)
	half := 20 + 300
	type end struct {
		*Conn
		write func([]byte)
		got   collector
	}
	var all []*end
	for range conns {
		c, peer := newConn(t, ConnOptions{CRC: true})
		all = append(all, &end{Conn: c, write: func(p []byte) { write(t, peer, p) }})
	}
	var want [][]byte
	for round := range rounds {
		for i, e := range all {
			e.write(stream[:half])
			receiveUntil(t, e.Conn, &e.got, round*len(stream)+half)
			look(t, e.Conn)
			look(t, e.Conn)
			has := e.in.whole()
			if has != (i < maxKept) || e.in.kept != has || !has && len(e.in.buf) > 1024 {
				t.Fatalf("connection %d: got buffer %t, kept %t, %d bytes, want %t", i, has,
					e.in.kept, len(e.in.buf), i < maxKept)
			}
			if e.in.pending() != 300 {
				t.Fatalf("connection %d: got %d bytes of an FPDU, want 300", i, e.in.pending())
			}
		}
		if kept.Load() != maxKept {
			t.Errorf("got %d buffers kept, want %d", kept.Load(), maxKept)
		}
		want = append(want, ulpdus...)
		for i, e := range all {
			// After one more byte it either moves again or stays.
			e.write(stream[half : half+1])
			receiveUntil(t, e.Conn, &e.got, round*len(stream)+half+1)
			look(t, e.Conn)
			e.write(stream[half+1:])
			receiveUntil(t, e.Conn, &e.got, (round+1)*len(stream))
			look(t, e.Conn)
			if e.in.buf != nil || e.in.kept {
				t.Errorf("connection %d has a buffer between FPDUs", i)
			}
			if d := diffULPDUs(want, e.got.ulpdus); d != "" {
				t.Fatalf("connection %d: ULPDUs (-want +got):\n%s", i, d)
			}
		}
		if kept.Load() != 0 {
			t.Errorf("got %d buffers kept, want none", kept.Load())
		}
	}
	for _, e := range all {
		e.write(stream[:half])
		receiveUntil(t, e.Conn, &e.got, rounds*len(stream)+half)
		look(t, e.Conn)
		e.Close(false)
	}
	if kept.Load() != 0 {
		t.Errorf("got %d buffers kept behind Close, want none", kept.Load())
	}
}
