package mpa

import (
	"errors"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/pace"
)

// expire makes the deadline of reads, which is far away, pass now.
func expire(t *testing.T, c *Conn) {
	t.Helper()
	if err := c.conn.SetReadDeadline(past); err != nil {
		t.Fatal(err)
	}
}

// stalls makes as many ticks pass without a byte as an incomplete FPDU or message may take, counted
// from the last tick, or from before it.
func stalls(t *testing.T, c *Conn, s ddp.Sink) {
	t.Helper()
	for range pace.Ticks {
		expire(t, c)
		receive(t, c, s, nil)
	}
	expire(t, c)
	receive(t, c, s, ErrStalled)
}

// receive receives once, and fails the test unless the error is the expected one.
func receive(t *testing.T, c *Conn, s ddp.Sink, want error) {
	t.Helper()
	if err := c.Receive(s); !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// A peer stops at any point in the middle of an FPDU.
func TestReceiveStalled(t *testing.T) {
	_, stream := streamOf(true, 14, 14)
	for _, n := range []int{1, 2, 19, 21, 39} {
		c, peer := newConn(t, ConnOptions{CRC: true, Stall: 5 * time.Millisecond})
		write(t, peer, stream[:n])
		var got collector
		if err := receiveAll(c, &got); !errors.Is(err, ErrStalled) {
			t.Errorf("behind %d bytes: got error %v, want %v", n, err, ErrStalled)
		}
		if len(got.ulpdus) != n/20 {
			t.Errorf("behind %d bytes: got %d ULPDUs, want %d", n, len(got.ulpdus), n/20)
		}
	}
}

// Single bytes do not count as progress: an FPDU must become complete.
func TestReceiveTrickle(t *testing.T) {
	_, stream := streamOf(true, 1000)
	c, peer := newConn(t, ConnOptions{CRC: true, Stall: 20 * time.Millisecond})
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for _, b := range stream[:len(stream)-1] {
			select {
			case <-stop:
				return
			case <-tick.C:
				write(t, peer, []byte{b})
			}
		}
	}()
	var got collector
	if err := receiveAll(c, &got); !errors.Is(err, ErrStalled) {
		t.Errorf("got error %v, want %v", err, ErrStalled)
	}
	close(stop)
	Await(t, "the peer", stopped)
}

// Between two FPDUs a peer may be silent for ever, also when an earlier deadline passes.
func TestReceiveIdle(t *testing.T) {
	ulpdus, stream := streamOf(true, 14, 15)
	c, peer := newConn(t, ConnOptions{CRC: true})
	var got collector
	write(t, peer, stream[:10])
	receiveUntil(t, c, &got, 10)
	write(t, peer, stream[10:20])
	receiveUntil(t, c, &got, 20)
	for range 3 {
		expire(t, c)
		receive(t, c, &got, nil)
	}
	write(t, peer, stream[20:])
	receiveUntil(t, c, &got, len(stream))
	if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
		t.Errorf("ULPDUs (-want +got):\n%s", d)
	}
}

// A peer always has a part of the next FPDU sent, and completes one before each deadline.
func TestReceiveSlow(t *testing.T) {
	c, peer := newConn(t, ConnOptions{CRC: true})
	fpdu := appendFPDU(nil, text(100, 0), true)
	var got collector
	write(t, peer, fpdu[:50])
	receiveUntil(t, c, &got, 50)
	for i := range 10 {
		write(t, peer, fpdu[50:])
		write(t, peer, fpdu[:50])
		receiveUntil(t, c, &got, (i+1)*len(fpdu)+50)
		expire(t, c)
		receive(t, c, &got, nil)
	}
	if len(got.ulpdus) != 10 {
		t.Errorf("got %d ULPDUs, want 10", len(got.ulpdus))
	}
	// And now it does stall.
	stalls(t, c, &got)
}

// It is not a stall if the rest had come, and this side had not read for so long.
func TestReceiveLate(t *testing.T) {
	ulpdus, stream := streamOf(true, 14, 14)
	c, peer := newConn(t, ConnOptions{CRC: true})
	var got collector
	write(t, peer, stream[:30])
	receiveUntil(t, c, &got, 30)
	write(t, peer, stream[30:])
	expire(t, c)
	receive(t, c, &got, nil)
	receiveUntil(t, c, &got, len(stream))
	if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
		t.Errorf("ULPDUs (-want +got):\n%s", d)
	}
	// The next FPDU has its full time.
	write(t, peer, stream[:10])
	receiveUntil(t, c, &got, len(stream)+10)
	expire(t, c)
	receive(t, c, &got, nil)
	stalls(t, c, &got)
}
