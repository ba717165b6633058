package krb5

import (
	"crypto/rand"
	"fmt"
	"sync/atomic"
	"time"
)

// kdcClock is the KDC's clock as a client knows it: the host's, and how far the KDC's was ahead of
// it at the last login. Tickets and authenticators go by the KDC's (as with MIT's kdc_timesync).
type kdcClock struct {
	host  func() time.Time
	own   bool         // the host's clock counts
	ahead atomic.Int64 // time.Duration
}

// Limits on offsets.
const (
	// leastOffset is the smallest that counts: a KDC's answer has whole seconds, and takes a while.
	leastOffset = 2 * time.Second
	// worthSaying is the offset from which errors tell it.
	worthSaying = time.Minute
)

func (c *kdcClock) now() time.Time { return c.host().Add(c.offset()) }

func (c *kdcClock) offset() time.Duration { return time.Duration(c.ahead.Load()) }

// learn sets how far the KDC's clock is ahead.
func (c *kdcClock) learn(ahead time.Duration) {
	if c.own || ahead.Abs() < leastOffset {
		ahead = 0
	}
	c.ahead.Store(int64(ahead))
}

// ours names the clock in an error.
func (c *kdcClock) ours() string {
	if d := c.offset(); d.Abs() >= worthSaying {
		return fmt.Sprintf("the KDC's, which was %s ours at the last login", apart(d))
	}
	return "ours"
}

// random fills b with random bytes.
func random(b []byte) { _, _ = rand.Read(b) } // it never fails

// timeOf returns a time from a message.
func timeOf(seconds time.Time, micros int) time.Time {
	return seconds.Add(time.Duration(micros) * time.Microsecond)
}

// apart describes how far another clock is from ours.
func apart(d time.Duration) string {
	if d < 0 {
		return fmt.Sprintf("%v behind", (-d).Round(time.Second))
	}
	return fmt.Sprintf("%v ahead of", d.Round(time.Second))
}

// at formats a time in the host's zone.
func at(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }
