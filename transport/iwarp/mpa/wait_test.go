package mpa

import (
	"net"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen before it calls it a hang, and says what
// it has waited for.
const patience = time.Minute

// Await receives from c. It is for the tests inside this package and outside.
func Await[T any](t interface {
	Helper()
	Fatalf(format string, args ...any)
}, what string, c <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		t.Fatalf("%s: waited %v in vain", what, patience)
	}
	return v
}

// TimedPipe is net.Pipe, of which what waits for longer than a test's patience fails.
func TimedPipe() (a, b net.Conn) {
	a, b = net.Pipe()
	return Timed(a), Timed(b)
}

// Timed has what waits for conn for longer than a test's patience fail.
func Timed[C net.Conn](conn C) C {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		panic(err)
	}
	return conn
}

// interruptHung has what waits for c at the end of a test's patience fail.
func interruptHung(t testing.TB, c *Conn) {
	done := make(chan struct{})
	hung := time.AfterFunc(patience, func() {
		defer close(done)
		t.Errorf("waited %v in vain for the peer, or for the network to take more", patience)
		c.Interrupt()
	})
	t.Cleanup(func() {
		if !hung.Stop() {
			<-done
		}
	})
}
