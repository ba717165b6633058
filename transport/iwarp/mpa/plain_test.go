package mpa

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestPlainBuffers has a connection that is not TCP wait between FPDUs and in the middle of one,
// behind few bytes and many. It has a buffer only if there is something to keep.
func TestPlainBuffers(t *testing.T) {
	ulpdus, stream := streamOf(true, 14, 15, 40_000, 14)
	for _, at := range []int{len(stream), len(stream) - 1, len(stream) - 24, 44, 45, 30_000} {
		synctest.Test(t, func(t *testing.T) {
			conn, peer := net.Pipe()
			defer peer.Close()
			c, err := NewConn(conn, ConnOptions{CRC: true, Stall: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			var got collector
			ended := make(chan error, 1)
			go func() { ended <- receiveAll(c, &got) }()
			send := func(p []byte) {
				if _, err := peer.Write(p); err != nil {
					t.Error(err)
				}
				synctest.Wait()
			}
			send(stream[:at])
			if pending := c.in.pending(); (c.in.buf != nil) != (pending > 0) {
				t.Errorf("behind %d bytes: got a buffer %t, with %d bytes pending", at, c.in.buf != nil, pending)
			}
			send(stream[at:])
			if c.in.buf != nil {
				t.Error("a buffer is kept between FPDUs")
			}
			peer.Close()
			if err := Await(t, "the end", ended); err != io.EOF {
				t.Errorf("got error %v, want %v", err, io.EOF)
			}
			if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
				t.Errorf("ULPDUs (-want +got):\n%s", d)
			}
			c.Close(false)
		})
	}
}

// told is a connection that records how it is closed.
type told struct {
	net.Conn
	calls []string
}

func (c *told) Close() error {
	c.calls = append(c.calls, "Close")
	return c.Conn.Close()
}

// half is a told connection with CloseWrite.
type half struct{ *told }

func (c half) CloseWrite() error {
	c.calls = append(c.calls, "CloseWrite")
	return c.Conn.Close() // a pipe has no other way
}

// tlsLike is a told connection over another one.
type tlsLike struct {
	half
	below *told
}

func (c tlsLike) NetConn() net.Conn { return c.below }

// TestPlainClose checks how connections that are not TCP are closed.
func TestPlainClose(t *testing.T) {
	for _, tt := range []struct {
		name    string
		half    bool
		tls     bool
		torn    bool // a Write failed
		words   bool // an FPDU waits to be sent
		orderly bool
		want    []string
	}{
		{name: "orderly", orderly: true, want: []string{"Close"}},
		{name: "orderly, with last words", orderly: true, words: true, want: []string{"read", "Close"}},
		{name: "not orderly", want: []string{"Close"}},
		{name: "by half", half: true, orderly: true, want: []string{"CloseWrite", "Close"}},
		{name: "by half, with last words", half: true, orderly: true, words: true, want: []string{"CloseWrite", "Close"}},
		{name: "TLS", tls: true, orderly: true, want: []string{"CloseWrite", "Close"}},
		{name: "TLS after a Write that failed", tls: true, torn: true, orderly: true, want: []string{"Close below", "Close"}},
	} {
		t.Run(tt.name, inBubble(func(t *testing.T) {
			ours, peer := net.Pipe()
			conn, below := &told{Conn: ours}, &told{Conn: ours}
			var under net.Conn = conn
			if tt.half {
				under = half{conn}
			}
			if tt.tls {
				under = tlsLike{half{conn}, below}
			}
			c, err := NewConn(under, ConnOptions{Stall: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			o := &outbox{Conn: c}
			add := func() {
				if err := o.add([]byte("fourteen bytes"), nil, 0); err != nil {
					t.Fatal(err)
				}
			}
			if tt.torn {
				add()
				if _, err := c.Wait(&o.mu); !errors.Is(err, ErrStalled) {
					t.Fatalf("Wait: got %v, want %v", err, ErrStalled)
				}
			}
			if tt.words {
				add()
			}
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				c.Close(tt.orderly)
			}()
			var calls []string
			if tt.words {
				if _, err := io.ReadFull(peer, make([]byte, fpduSize(14))); err != nil {
					t.Error(err)
				}
				if !tt.half {
					// It waits for the peer to close, and reads what the peer sends until then.
					if _, err := peer.Write([]byte("is taken")); err != nil {
						t.Error(err)
					}
					calls = append(calls, "read")
					peer.Close()
				}
			}
			Await(t, "Close", closed)
			peer.Close()
			if below.calls != nil {
				calls = append(calls, "Close below")
			}
			if d := cmp.Diff(tt.want, slices.Concat(calls, conn.calls)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		}))
	}
}

// inBubble runs a test in virtual time.
func inBubble(test func(*testing.T)) func(*testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// A Write to TLS that is pending at an Interrupt is completed, if the peer takes the bytes; so is
// what Close sends. No other Write begins.
func TestInterruptTLS(t *testing.T) {
	ulpdus, want := streamOf(true, 14, 14)
	whole := len(want) / 2
	for name, takes := range map[string]bool{"a peer that reads": true, "a peer that does not": false} {
		t.Run(name, inBubble(func(t *testing.T) {
			ours, peer := net.Pipe()
			under := &told{Conn: ours}
			c, err := NewConn(tlsLike{half{under}, under}, ConnOptions{CRC: true, Stall: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			o := &outbox{Conn: c}
			if err := o.add(ulpdus[0], nil, 0); err != nil {
				t.Fatal(err)
			}
			waited := make(chan error, 1)
			wait := func() {
				_, err := c.Wait(&o.mu)
				waited <- err
			}
			go wait()
			got := make([]byte, len(want))
			if _, err := io.ReadFull(peer, got[:1]); err != nil {
				t.Fatal(err)
			}
			c.Interrupt()
			synctest.Wait()
			select {
			case err := <-waited:
				t.Fatalf("the Write was interrupted: %v", err)
			default:
			}
			var end error
			if takes {
				if _, err := io.ReadFull(peer, got[1:whole]); err != nil {
					t.Fatal(err)
				}
			} else {
				end = os.ErrDeadlineExceeded
			}
			if err := Await(t, "Wait", waited); !errors.Is(err, end) {
				t.Fatalf("the Write under way: got %v, want %v", err, end)
			}
			if err := o.add(ulpdus[1], nil, 0); err != nil {
				t.Fatal(err)
			}
			if wait(); !errors.Is(Await(t, "Wait", waited), os.ErrDeadlineExceeded) {
				t.Error("Wait has not failed after Interrupt")
			}
			closed := make(chan struct{})
			go func() {
				defer close(closed)
				c.Close(true)
			}()
			n, err := io.ReadFull(peer, got[whole:])
			if sent := err == nil; sent != takes {
				t.Errorf("behind the Write %d bytes came, error %v", n, err)
			}
			Await(t, "Close", closed)
			peer.Close()
			if d := cmp.Diff(want, got); takes && d != "" {
				t.Errorf("bytes sent (-want +got):\n%s", d)
			}
		}))
	}
}
