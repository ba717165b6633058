package mpa

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/pace"
)

// messages is a sink of messages. The first byte of each segment says what it is.
type messages struct {
	modest
	open  bool
	ended uint64
	moved int
}

const (
	more    = 'm' // a segment of a message, except the last
	last    = 'l' // the last segment of a message
	useless = 'u' // not part of an awaited message
)

func (s *messages) Segment(segment []byte) error {
	switch segment[0] {
	case more:
		s.open = true
		s.moved += len(segment)
	case last:
		s.open = false
		s.moved += len(segment)
		s.ended++
	}
	return nil
}

func (s *messages) Unfinished() (message uint64, moved int) {
	if s.open {
		return s.ended + 1, s.moved
	}
	return 0, s.moved
}

// fpduOf is an FPDU with a segment of a kind.
func fpduOf(kind byte, size int) []byte {
	return appendFPDU(nil, append([]byte{kind}, bytes.Repeat([]byte{'x'}, size-1)...), false)
}

// TestMessageStalled has a peer that begins a message and then goes on in several ways. Over TCP,
// the test makes ticks pass.
func TestMessageStalled(t *testing.T) {
	for _, tt := range []struct {
		name string
		each []byte // data that arrives in each tick
		ends bool
	}{
		{"nothing", nil, true},
		{"useless", bytes.Repeat(fpduOf(useless, 14), 600), true}, // 12,000 bytes
		{"a trickle", fpduOf(more, 1000), true},
		{"enough", fpduOf(more, 8000), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, peer := newConn(t, ConnOptions{Stall: 30 * time.Second})
			got := new(messages)
			come := 0
			send := func(p []byte) error {
				write(t, peer, p)
				for come += len(p); int(c.received.Load()) < come; {
					if err := c.Receive(got); err != nil {
						return err
					}
				}
				return nil
			}
			if err := send(fpduOf(more, 14)); err != nil {
				t.Fatal(err)
			}
			var err error
			ticks := 0
			for ; err == nil && ticks < 20; ticks++ {
				if err = send(tt.each); err == nil {
					expire(t, c)
					err = c.Receive(got)
				}
			}
			if tt.ends && (!errors.Is(err, ErrStalled) || ticks != pace.Ticks+1) {
				t.Errorf("got error %v after %d ticks, want %v after %d", err, ticks, ErrStalled, pace.Ticks+1)
			}
			if !tt.ends && err != nil {
				t.Errorf("after %d ticks: %v", ticks, err)
			}
		})
	}
}

// TestMessages has messages come one after another, each nearly as slow as allowed. The peer may be
// silent between two of them.
func TestMessages(t *testing.T) {
	c, peer := newConn(t, ConnOptions{})
	got := new(messages)
	for range 3 {
		write(t, peer, fpduOf(more, 14))
		for !got.open {
			receive(t, c, got, nil)
		}
		for range pace.Ticks {
			expire(t, c)
			receive(t, c, got, nil)
		}
		write(t, peer, fpduOf(last, 14))
		for got.open {
			receive(t, c, got, nil)
		}
		for range 10 {
			expire(t, c)
			receive(t, c, got, nil)
		}
	}
	write(t, peer, fpduOf(more, 14))
	for !got.open {
		receive(t, c, got, nil)
	}
	stalls(t, c, got)
}

// TestStallTimes measures, in virtual time over a pipe, how long a peer may stop in the middle of
// an FPDU or of a message, and how long one may take that sends 1,250 bytes a second.
func TestStallTimes(t *testing.T) {
	const stall = 30 * time.Second
	bubble := func(t *testing.T, play func(peer net.Conn)) (got *messages, took time.Duration, err error) {
		synctest.Test(t, func(t *testing.T) {
			ours, theirs := net.Pipe()
			c, cerr := NewConn(ours, ConnOptions{Stall: stall})
			if cerr != nil {
				t.Fatal(cerr)
			}
			stopped := make(chan time.Time, 1)
			go func() {
				play(theirs)
				stopped <- time.Now()
			}()
			got = new(messages)
			err = receiveAll(c, got)
			c.Close(false)
			theirs.Close()
			took = time.Since(<-stopped)
		})
		return got, took, err
	}
	for _, tt := range []struct {
		name string
		sent []byte
	}{
		{"half an FPDU", fpduOf(more, 14)[:10]},
		{"a message without its end", fpduOf(more, 14)},
		{"a message, and half an FPDU", append(fpduOf(more, 14), 0)},
		{"much of a message without its end", bytes.Repeat(fpduOf(more, 60000), 10)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, took, err := bubble(t, func(peer net.Conn) { peer.Write(tt.sent) })
			if !errors.Is(err, ErrStalled) {
				t.Errorf("got error %v, want %v", err, ErrStalled)
			}
			if took < stall || took > stall*3/2 {
				t.Errorf("the peer was given %v, want %v to %v", took, stall, stall*3/2)
			}
		})
	}
	t.Run("slow", func(t *testing.T) {
		stream := append(bytes.Repeat(fpduOf(more, 60000), 10), fpduOf(last, 14)...)
		got, _, err := bubble(t, func(peer net.Conn) {
			for p := range slices.Chunk(stream, 125) {
				if _, err := peer.Write(p); err != nil {
					t.Error(err)
					return
				}
				time.Sleep(time.Second / 10)
			}
			peer.Close()
		})
		if got.ended != 1 {
			t.Errorf("got %d messages, and %v, want 1", got.ended, err)
		}
	})
}
