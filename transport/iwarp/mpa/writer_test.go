package mpa

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// outbox sends segments on a Conn as a provider does.
type outbox struct {
	*Conn
	mu sync.Mutex // guards the batch
}

// add appends a segment. If the batch is full, it first sends that.
func (o *outbox) add(header []byte, list []transport.Slice, owner transport.STag) error {
	p, n := ddp.Payload{List: list}, transport.TotalLen(list)
	for {
		o.mu.Lock()
		ok := o.Append(header, &p, n, owner)
		o.mu.Unlock()
		if ok {
			return nil
		}
		if err := o.send(); err != nil {
			return err
		}
	}
}

// send sends the batch.
func (o *outbox) send() error {
	o.mu.Lock()
	empty, err := o.Flush()
	o.mu.Unlock()
	for !empty && err == nil {
		empty, err = o.Wait(&o.mu)
	}
	return err
}

// newOutbox returns an outbox whose socket takes little at a time, and the peer.
func newOutbox(t tester, o ConnOptions) (*outbox, *net.TCPConn) {
	t.Helper()
	c, peer := newConn(t, o)
	// Leave the peer's receive buffer alone: with a window below the MSS, TCP would wait for its
	// timers.
	if err := c.conn.(*net.TCPConn).SetWriteBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	return &outbox{Conn: c}, peer
}

// oddly reads n bytes from the peer in runs of odd sizes.
func oddly(t testing.TB, peer io.Reader, n int) []byte {
	all := make([]byte, n)
	for rest := all; len(rest) > 0; {
		k, err := peer.Read(rest[:min(1+rand.IntN(3000), len(rest))])
		if err != nil {
			t.Errorf("behind %d bytes: %v", n-len(rest), err)
			return nil
		}
		rest = rest[k:]
	}
	return all
}

// Segments of many shapes to a peer that reads slowly.
func TestSend(t *testing.T) {
	for _, crc := range []bool{false, true} {
		t.Run(fmt.Sprintf("CRC %t", crc), func(t *testing.T) {
			o, peer := newOutbox(t, ConnOptions{CRC: crc})
			type segment struct {
				header []byte
				list   []transport.Slice
			}
			var segments []segment
			var want []byte
			for i := range 120 {
				header := text(14+4*(i%2), i)
				payload := text([]int{0, 1, 700, 1024, 1025, 9000, 65000}[i%7], i)
				list := listOf(payload)
				if i%3 == 0 {
					list = pieces(payload, 1+i*i)
				}
				segments = append(segments, segment{header, list})
				want = appendFPDU(want, append(header[:len(header):len(header)], payload...), crc)
			}
			got := make(chan []byte)
			go func() { got <- oddly(t, peer, len(want)) }()
			for i, s := range segments {
				if err := o.add(s.header, s.list, 0); err != nil {
					t.Fatal(err)
				}
				if i%5 == 0 {
					if err := o.send(); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := o.send(); err != nil {
				t.Fatal(err)
			}
			diff(t, Await(t, "what was sent", got), want)
		})
	}
}

// A batch has more pieces than the system takes at a time.
func TestSendManyPieces(t *testing.T) {
	const n, before = 60000, 256 // leaves little room for copies
	o, peer := newOutbox(t, ConnOptions{CRC: true})
	header := []byte("fourteen bytes")
	var want []byte
	for i := range before {
		want = appendFPDU(want, append(header[:14:14], text(1000, i)...), true)
	}
	want = appendFPDU(want, append(header[:14:14], text(n, 0)...), true)
	got := make(chan []byte, 1)
	go func() { got <- oddly(t, peer, len(want)) }()
	for i := range before {
		if err := o.add(header, listOf(text(1000, i)), 0); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.add(header, pieces(text(n, 0), 1), 0); err != nil {
		t.Fatal(err)
	}
	if !o.out.plain && len(o.out.batch.pieces) < 10000 {
		t.Fatalf("got %d pieces, want very many", len(o.out.batch.pieces))
	}
	if err := o.send(); err != nil {
		t.Fatal(err)
	}
	diff(t, Await(t, "what was sent", got), want)
}

// Detached memory may be reused at once, while the batch waits for the network. So may the memory
// of an empty batch.
func TestDetachUnderWay(t *testing.T) {
	o, peer := newOutbox(t, ConnOptions{})
	var want []byte
	for range 40 {
		want = appendFPDU(want, append([]byte("fourteen bytes"), text(20000, 1)...), false)
		want = appendFPDU(want, append([]byte("fourteen bytes"), text(20000, 2)...), false)
	}
	got := make(chan []byte)
	go func() { got <- oddly(t, peer, len(want)) }()
	for range 40 {
		one, two := text(20000, 1), text(20000, 2)
		for owner, mem := range [][]byte{1: one, 2: two} {
			if mem == nil {
				continue
			}
			if err := o.add([]byte("fourteen bytes"), listOf(mem), transport.STag(owner)); err != nil {
				t.Fatal(err)
			}
		}
		var revoking sync.WaitGroup
		revoking.Go(func() {
			o.mu.Lock()
			o.Detach(1)
			o.mu.Unlock()
			clear(one)
		})
		if err := o.send(); err != nil {
			t.Fatal(err)
		}
		clear(two)
		revoking.Wait()
	}
	diff(t, Await(t, "what was sent", got), want)
}

// fill sends until the network takes no more for now.
func fill(t testing.TB, o *outbox) {
	t.Helper()
	for i := 0; ; i++ {
		p := ddp.Payload{List: listOf(text(60000, i))}
		if !o.Append([]byte("fourteen bytes"), &p, 60000, 0) {
			if empty, err := o.Flush(); err != nil {
				t.Fatal(err)
			} else if !empty {
				return
			}
		}
	}
}

// Flush does not wait.
func TestFlush(t *testing.T) {
	o, _ := newOutbox(t, ConnOptions{})
	if empty, err := o.Flush(); !empty || err != nil {
		t.Errorf("with nothing to send: got %t, %v", empty, err)
	}
	if empty, err := o.Wait(&o.mu); !empty || err != nil {
		t.Errorf("Wait with nothing to send: got %t, %v", empty, err)
	}
	fill(t, o)
	if empty, err := o.Flush(); empty || err != nil {
		t.Errorf("with a peer that does not read: got %t, %v", empty, err)
	}
}

// The peer takes nothing.
func TestSendStalled(t *testing.T) {
	o, _ := newOutbox(t, ConnOptions{Stall: 10 * time.Millisecond})
	fill(t, o)
	if err := o.send(); !errors.Is(err, ErrStalled) {
		t.Errorf("got error %v, want %v", err, ErrStalled)
	}
}

// It is not a stall if the peer takes enough, however many ticks pass.
func TestSendSlow(t *testing.T) {
	o, peer := newOutbox(t, ConnOptions{Stall: 15 * time.Second})
	got := drain(peer)
	for seen := 0; seen < 10*o.out.pace.Enough; {
		fill(t, o)
		for empty := false; !empty; {
			var err error
			if empty, err = o.Wait(&o.mu); err != nil {
				t.Fatalf("behind %d bytes: %v", o.out.total, err)
			}
			if o.out.total-seen < o.out.pace.Enough {
				continue
			}
			seen = o.out.total
			if err := o.conn.SetWriteDeadline(past); err != nil {
				t.Fatal(err)
			}
		}
	}
	sent := o.out.total
	o.conn.(*net.TCPConn).CloseWrite()
	if n := len(Await(t, "the end of the stream", got)); n != sent || n == 0 {
		t.Errorf("got %d bytes, want %d", n, sent)
	}
}

// The deadline of an earlier Wait does not disturb later sends.
func TestDeadlineOfBefore(t *testing.T) {
	o, peer := newOutbox(t, ConnOptions{})
	fill(t, o)
	left := o.out.total + o.out.batch.size - o.out.batch.sent
	got := make(chan []byte)
	go func() { got <- oddly(t, peer, left) }()
	if err := o.send(); err != nil { // sets a deadline
		t.Fatal(err)
	}
	Await(t, "what was sent", got)
	for i := range 3 {
		if err := o.conn.SetWriteDeadline(past); err != nil {
			t.Fatal(err)
		}
		if err := o.add([]byte("fourteen bytes"), listOf(text(100, i)), 0); err != nil {
			t.Fatal(err)
		}
		if err := o.send(); err != nil {
			t.Fatalf("behind the deadline: %v", err)
		}
		diff(t, oddly(t, peer, fpduSize(114)), appendFPDU(nil, append([]byte("fourteen bytes"), text(100, i)...), false))
	}
}

// The peer has reset the connection.
func TestSendReset(t *testing.T) {
	o, peer := newOutbox(t, ConnOptions{})
	fill(t, o)
	waited := make(chan error)
	go func() { waited <- o.send() }()
	peer.SetLinger(0)
	peer.Close()
	err := Await(t, "Wait", waited)
	for range 3 {
		for _, not := range []error{nil, io.EOF, ErrStalled} {
			if errors.Is(err, not) {
				t.Errorf("got error %v", err)
			}
		}
		err = o.send()
	}
}

// Two Conns send all the time, both ways.
func TestBothWays(t *testing.T) {
	a, b := tcpPair(t)
	const n = 400
	var conns [2]*outbox
	for i, tcp := range []*net.TCPConn{a, b} {
		conns[i] = &outbox{Conn: connOver(t, tcp, ConnOptions{CRC: true})}
	}
	var all sync.WaitGroup
	for i, o := range conns {
		all.Go(func() {
			for k := range n {
				if err := errors.Join(o.add([]byte("fourteen bytes"), listOf(text(50*k, i)), 0), o.send()); err != nil {
					t.Error(err)
				}
			}
		})
		all.Go(func() {
			var got collector
			for len(got.ulpdus) < n {
				if err := o.Receive(&got); err != nil {
					t.Errorf("behind %d: %v", len(got.ulpdus), err)
					return
				}
			}
			for k, u := range got.ulpdus {
				diff(t, u, append([]byte("fourteen bytes"), text(50*k, 1-i)...))
			}
		})
	}
	all.Wait()
}
