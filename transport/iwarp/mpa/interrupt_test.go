package mpa

import (
	"errors"
	"net"
	"os"
	"testing"
	"time"
)

// Interrupt ends pending and later waits.
func TestInterrupt(t *testing.T) {
	receiveOne := func(o *outbox) error { return o.Receive(new(collector)) }
	for _, tt := range []struct {
		name    string
		prepare func(*outbox, *net.TCPConn)
		wait    func(*outbox) error
	}{
		{"receive", func(*outbox, *net.TCPConn) {}, receiveOne},
		{
			"receive in the middle of an FPDU",
			func(o *outbox, peer *net.TCPConn) {
				write(t, peer, []byte{0})
				receiveUntil(t, o.Conn, new(collector), 1)
			},
			receiveOne,
		},
		{"wait", func(o *outbox, _ *net.TCPConn) { fill(t, o) }, (*outbox).send},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for i := range 60 {
				o, peer := newOutbox(t, ConnOptions{})
				tt.prepare(o, peer)
				ended := make(chan error)
				if i%3 == 0 {
					o.Interrupt() // before
				}
				go func() { ended <- tt.wait(o) }()
				for range i % 7 {
					o.Interrupt() // before or while it waits, and again
				}
				o.Interrupt()
				for range 3 { // it stays in effect
					if err := Await(t, "the end of what was interrupted", ended); !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Fatalf("got error %v, want %v", err, os.ErrDeadlineExceeded)
					}
					go func() { ended <- tt.wait(o) }()
				}
				Await(t, "the end of what was interrupted", ended)
				o.Close(false)
				peer.Close()
			}
		})
	}
}

// Deadlines that the stream sets for itself do not undo an Interrupt.
func TestInterruptStays(t *testing.T) {
	o, _ := newOutbox(t, ConnOptions{})
	fill(t, o)
	o.Interrupt()
	o.setReadDeadline(time.Now().Add(time.Hour))
	o.setWriteDeadline(time.Time{})
	if err := o.Receive(new(collector)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Receive: got error %v, want %v", err, os.ErrDeadlineExceeded)
	}
	if _, err := o.Wait(&o.mu); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("Wait: got error %v, want %v", err, os.ErrDeadlineExceeded)
	}
}
