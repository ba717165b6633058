package krb5

import (
	"crypto/rand"
	"fmt"
	"time"
)

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
