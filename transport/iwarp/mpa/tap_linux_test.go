//go:build !mpaportable

package mpa

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// tapped is a TCP connection with a tap that records.
type tapped struct {
	net.Conn
	sent, received []byte
	ended          bool
}

func (c *tapped) TCPConn() *net.TCPConn { return c.Conn.(*net.TCPConn) }

func (c *tapped) Sending(pieces [][]byte, write func() (int, error)) (int, error) {
	n, err := write()
	c.sent = append(c.sent, bytes.Join(pieces, nil)[:n]...)
	return n, err
}

func (c *tapped) Received(pieces [][]byte, n int, err error) {
	c.received = append(c.received, bytes.Join(pieces, nil)[:n]...)
	c.ended = n == 0 && err == nil
}

// A tapped connection is read and written like TCP. The tap learns each byte of both streams, also
// when it is sent in part or read in pieces, and the peer's end.
func TestTap(t *testing.T) {
	tcp, peer := tcpPair(t)
	tap := &tapped{Conn: tcp}
	c, err := NewConn(tap, ConnOptions{Stall: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(false)
	plain, _ := newConn(t, ConnOptions{})
	if c.MaxSegment() != plain.MaxSegment() || !c.in.places || c.out.plain {
		t.Errorf("MULPDU %d, want %d; reads to places: %t; writes block: %t", c.MaxSegment(),
			plain.MaxSegment(), c.in.places, c.out.plain)
	}

	o := &outbox{Conn: c}
	for i := range 3 {
		if err := o.add(text(20_000*i+14, i), nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.send(); err != nil {
		t.Fatal(err)
	}
	sent := make([]byte, len(tap.sent))
	_, err = io.ReadFull(peer, sent)
	if err != nil || len(sent) < 60_000 || !bytes.Equal(sent, tap.sent) {
		t.Errorf("%d bytes sent, %v", len(sent), err)
	}

	_, stream := taggedStream(false, 20, 40_000, 50_000, 30)
	got := &placer{piece: 7_000}
	hangUp(t, peer, stream)
	if err := receiveAll(c, got); err != io.EOF || got.placed == 0 {
		t.Errorf("%v, with %d segments read to their places", err, got.placed)
	}
	if !bytes.Equal(tap.received, stream) || !tap.ended {
		t.Errorf("%d bytes received, want %d; the end: %t", len(tap.received), len(stream), tap.ended)
	}
}
