package mpa

import (
	"bytes"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// full is a sink without memory, until it gets some.
type full struct {
	collector
	room bool
}

func (s *full) Segment(segment []byte) error {
	if !s.room {
		return ddp.ErrHold
	}
	return s.collector.Segment(segment)
}

func (s *full) Ready() bool { return s.room }

// TestHoldPeerLeaves has peers leave while one of their segments is held, with or without unread
// bytes behind it. Over TCP, the end is noticed however many bytes there are; over other
// connections, only if they are few.
func TestHoldPeerLeaves(t *testing.T) {
	first := appendFPDU(nil, text(14, 0), false)
	for _, tt := range []struct {
		name   string
		behind int // bytes
		leave  func(peer *net.TCPConn)
		eof    bool // the error that Hold returns
	}{
		{"closes", 0, func(peer *net.TCPConn) { peer.CloseWrite() }, true},
		{"closes behind much", 60_000, func(peer *net.TCPConn) { peer.CloseWrite() }, true},
		{"resets", 0, reset, false},
		{"resets behind much", 60_000, reset, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, before := range []bool{true, false} {
				c, peer := newConn(t, ConnOptions{})
				if _, ok := c.in.sys.(*plainInput); ok && tt.behind > plainFew {
					t.Skip("read by Read, as other connections are")
				}
				var got full
				write(t, peer, append(first, make([]byte, tt.behind)...))
				receive(t, c, &got, ddp.ErrHold)
				if before {
					tt.leave(peer)
				}
				held := make(chan error)
				go func() { held <- c.Hold() }()
				if !before {
					tt.leave(peer)
				}
				if err := awaitHold(t, c, held); err == nil || errors.Is(err, io.EOF) != tt.eof {
					t.Errorf("Hold, and the peer leaves before it %t: got error %v, want %v: %t",
						before, err, io.EOF, tt.eof)
				}
			}
		})
	}
}

func reset(peer *net.TCPConn) {
	peer.SetLinger(0)
	peer.Close()
}

// awaitHold waits for Hold.
func awaitHold(t *testing.T, c *Conn, held <-chan error) error {
	t.Helper()
	select {
	case err := <-held:
		return err
	case <-time.After(patience):
		t.Errorf("Hold has not ended after %v", patience)
		c.Interrupt()
		return <-held
	}
}

// TestHoldResume ends Hold by Resume, called before and while it waits, and by Interrupt. What the
// peer has sent meanwhile is not lost.
func TestHoldResume(t *testing.T) {
	for name, conns := range map[string]func(t *testing.T) (*Conn, net.Conn){
		"TCP": func(t *testing.T) (*Conn, net.Conn) { return newConn(t, ConnOptions{}) },
		"pipe": func(t *testing.T) (*Conn, net.Conn) {
			ours, theirs := net.Pipe()
			c, err := NewConn(ours, ConnOptions{Stall: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				theirs.Close()
				c.Close(false)
			})
			return c, theirs
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, peer := conns(t)
			ulpdus, stream := streamOf(false, 14, 3000, 15, 20_000, 16, 60_000, 17)
			sent := make(chan error)
			go func() {
				_, err := peer.Write(stream)
				sent <- err
			}()
			var got full
			for i := range ulpdus {
				got.room = false
				for len(got.ulpdus) == i {
					err := c.Receive(&got)
					if err == nil {
						continue
					}
					if err != ddp.ErrHold {
						t.Fatal(err)
					}
					held := make(chan error)
					if i%2 == 0 {
						c.Resume()
					}
					go func() { held <- c.Hold() }()
					if i%2 == 1 {
						c.Resume()
					}
					if err := awaitHold(t, c, held); err != nil {
						t.Fatalf("Hold: %v", err)
					}
					got.room = true
				}
			}
			if err := <-sent; err != nil {
				t.Error(err)
			}
			if d := diffULPDUs(ulpdus, got.ulpdus); d != "" {
				t.Errorf("ULPDUs (-want +got):\n%s", d)
			}
			held := make(chan error)
			go func() { held <- c.Hold() }()
			c.Interrupt()
			if err := awaitHold(t, c, held); err != nil {
				t.Errorf("Hold, interrupted: %v", err)
			}
			go func() { held <- c.Hold() }()
			if err := awaitHold(t, c, held); err != nil {
				t.Errorf("Hold, interrupted before: %v", err)
			}
		})
	}
}

// TestHoldReadsAhead has a peer over a pipe send and leave while a segment is held. Only little is
// read ahead. The message of the held segment has its full time once the segment is taken.
func TestHoldReadsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c, err := NewConn(ours, ConnOptions{Stall: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			theirs.Write(append(appendFPDU(nil, text(14, 0), false), make([]byte, plainFew-100)...))
			theirs.Close()
		}()
		var got full
		receive(t, c, &got, ddp.ErrHold)
		if err := c.Hold(); err != io.EOF {
			t.Errorf("Hold: got error %v, want %v", err, io.EOF)
		}
		c.Close(false)
	})
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		c, err := NewConn(ours, ConnOptions{Stall: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		go theirs.Write(append(fpduOf(more, 14), fpduOf(more, 30_000)...))
		got := &waiting{}
		receive(t, c, got, ddp.ErrHold)
		for range 3 {
			go func() {
				time.Sleep(time.Hour)
				c.Resume()
			}()
			if err := c.Hold(); err != nil {
				t.Fatal(err)
			}
			receive(t, c, got, ddp.ErrHold)
			if most := 2 * plainFew; len(c.in.buf) > most {
				t.Errorf("%d bytes are kept behind a segment that is held, want no more than %d", len(c.in.buf), most)
			}
		}
		got.room = true
		began := time.Now()
		for got.moved == 0 || got.moved < 30_000 {
			receive(t, c, got, nil)
		}
		if err := receiveAll(c, got); !errors.Is(err, ErrStalled) {
			t.Errorf("got error %v, want %v", err, ErrStalled)
		}
		if took := time.Since(began); took < time.Minute {
			t.Errorf("the peer was given %v, want a minute or more", took)
		}
		c.Close(false)
	})
}

// TestHeldForLong has the first segment of a message held for longer than a peer may stall. The
// peer could go on meanwhile: if it did, the time does not count against it; if not, it soon has
// stalled.
func TestHeldForLong(t *testing.T) {
	for _, tt := range []struct {
		name   string
		behind []byte
		ends   bool // after a tick
	}{
		{"nothing more", nil, true},
		{"little", fpduOf(more, 100), true},
		{"enough", bytes.Repeat(fpduOf(more, 8<<10), 5), false},
		{"the rest", fpduOf(last, 14), false},
		{"the rest, and the next message", append(fpduOf(last, 14), fpduOf(more, 14)...), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, peer := newConn(t, ConnOptions{Stall: 30 * time.Second})
			got := new(waiting)
			write(t, peer, fpduOf(more, 14))
			receive(t, c, got, ddp.ErrHold)
			c.in.watch.held = c.in.watch.held.Add(-time.Hour)
			write(t, peer, tt.behind)
			c.Resume()
			if err := c.Hold(); err != nil {
				t.Fatal(err)
			}
			got.room = true
			for receive(t, c, got, nil); int(c.received.Load()) < len(fpduOf(more, 14))+len(tt.behind); {
				receive(t, c, got, nil)
			}
			expire(t, c)
			var want error
			if tt.ends {
				want = ErrStalled
			}
			receive(t, c, got, want)
		})
	}
}

// TestHeldAndTaken has a whole message held for longer than a peer may stall. The next message has
// its full time.
func TestHeldAndTaken(t *testing.T) {
	c, peer := newConn(t, ConnOptions{Stall: 30 * time.Second})
	got := new(waiting)
	write(t, peer, fpduOf(last, 14))
	receive(t, c, got, ddp.ErrHold)
	c.in.watch.held = c.in.watch.held.Add(-time.Hour)
	got.room = true
	receive(t, c, got, nil)
	write(t, peer, fpduOf(more, 14))
	receive(t, c, got, nil)
	stalls(t, c, got)
}

// waiting is a messages sink without memory, until it gets some.
type waiting struct {
	messages
	room bool
}

func (s *waiting) Segment(segment []byte) error {
	if !s.room {
		return ddp.ErrHold
	}
	return s.messages.Segment(segment)
}
