package mpa

import (
	"net"
	"time"

	"pgregory.net/rapid"
)

// tester is a test, or a case of a randomised one, which has its own cleanups.
type tester interface {
	rapid.TB
	Cleanup(func())
}

// patience is how long a test waits for something that must happen before it reports a hang, and
// what it waited for.
const patience = time.Minute

// Await receives from c. Tests inside this package and outside use it.
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

// TimedPipe is net.Pipe with ends that fail when something waits for longer than patience.
func TimedPipe() (a, b net.Conn) {
	a, b = net.Pipe()
	return Timed(a), Timed(b)
}

// Timed makes waits on conn fail that last longer than patience.
func Timed[C net.Conn](conn C) C {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		panic(err)
	}
	return conn
}

// interruptHung makes waits on c fail after patience.
func interruptHung(t tester, c *Conn) {
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
