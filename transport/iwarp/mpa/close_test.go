package mpa

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// An orderly Close sends the rest of the batch, then the end, and reads what the peer still sends,
// so that no reset loses anything. An earlier Interrupt makes no difference.
func TestCloseOrderly(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		c, peer := newConn(t, ConnOptions{CRC: true})
		var want []byte
		for i := range 15 {
			p := ddp.Payload{List: listOf(text(60000, i))}
			if !c.Append([]byte("fourteen bytes"), &p, 60000/15*i, 0) {
				break
			}
			want = appendFPDU(want, append([]byte("fourteen bytes"), text(60000, i)[:60000/15*i]...), true)
		}
		if interrupted {
			c.Interrupt()
		}
		closed := make(chan struct{})
		go func() {
			defer close(closed)
			c.Close(true)
		}()
		write(t, peer, make([]byte, 100000)) // nobody reads this
		got, err := io.ReadAll(peer)
		if err != nil {
			t.Errorf("behind %d bytes: %v", len(got), err)
		}
		diff(t, got, want)
		select {
		case <-closed:
			t.Error("Close did not wait for the peer")
		default:
		}
		write(t, peer, make([]byte, 100000))
		peer.CloseWrite()
		Await(t, "Close", closed)
		if _, err := peer.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("the peer sees %v, want no reset", err)
		}
	}
}

// Any other Close resets the connection.
func TestCloseReset(t *testing.T) {
	c, peer := newConn(t, ConnOptions{})
	p := ddp.Payload{List: listOf(text(100, 0))}
	c.Append([]byte("fourteen bytes"), &p, 100, 0)
	c.Close(false)
	got, err := io.ReadAll(peer)
	if err == nil || len(got) > 0 {
		t.Errorf("the peer gets %d bytes, error %v, want a reset", len(got), err)
	}
	if err := c.Receive(new(collector)); err == nil {
		t.Error("Receive of a closed Conn: got no error")
	}
}

// Close after the peer has reset the connection.
func TestCloseBehindReset(t *testing.T) {
	o, peer := newOutbox(t, ConnOptions{})
	fill(t, o)
	peer.SetLinger(0)
	peer.Close()
	if err := receiveAll(o.Conn, new(collector)); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got error %v, want a reset", err)
	}
	o.Close(true)
}

// After Cut, last words, and an orderly Close, the peer sees a stream of whole FPDUs.
func TestCutUnderWay(t *testing.T) {
	o, peer := newOutbox(t, ConnOptions{CRC: true})
	fill(t, o)
	begun := o.out.batch.begun()
	sent := o.out.total
	o.Cut(false)
	if err := o.add([]byte("fourteen bytes"), listOf([]byte("last words")), 0); err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		o.Close(true)
	}()
	got, err := io.ReadAll(peer)
	if err != nil {
		t.Error(err)
	}
	peer.Close()
	Await(t, "Close", closed)
	words := appendFPDU(nil, []byte("fourteen bytes"+"last words"), true)
	if want := sent + begun + len(words); len(got) != want {
		t.Fatalf("got %d bytes, want %d, including %d for the rest of an FPDU", len(got), want, begun)
	}
	size := fpduSize(14 + 60000)
	if len(got)%size != len(words) || !bytes.HasSuffix(got, words) {
		t.Errorf("the stream does not end with whole FPDUs and the last words: % x", got[len(got)-40:])
	}
	for at := 0; at+size < len(got); at += size {
		if !crcHolds(got[at : at+size]) {
			t.Errorf("the FPDU at byte %d is damaged", at)
		}
	}
}

// Nothing is left of a batch that was cut because the peer is gone, or before any of it was sent.
func TestCutAll(t *testing.T) {
	for _, peerGone := range []bool{false, true} {
		o, peer := newOutbox(t, ConnOptions{})
		if peerGone {
			fill(t, o)
		} else {
			p := ddp.Payload{List: listOf(text(2000, 0))}
			o.Append([]byte("fourteen bytes"), &p, 2000, 0)
		}
		sent := o.out.total
		o.Cut(peerGone)
		if empty, err := o.Wait(&o.mu); !empty || err != nil {
			t.Errorf("peer gone %t: got %t, %v, want nothing to send", peerGone, empty, err)
		}
		o.conn.(*net.TCPConn).CloseWrite()
		if got := len(Await(t, "the end of the stream", drain(peer))); got != sent {
			t.Errorf("peer gone %t: got %d bytes, want %d", peerGone, got, sent)
		}
	}
}
