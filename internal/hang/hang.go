// Package hang is for tests that wait: a test that waits in vain says for what, with the stacks of
// all goroutines, well before the time limit of all tests.
package hang

import (
	"runtime"
	"testing"
	"time"
)

// Patience is how long a test waits for what must happen, before it fails: a busy machine under the
// race detector takes thirty times as long.
const Patience = 2 * time.Minute

// Receive receives from c, where what is to come. It returns the zero value when c is closed. It is
// for the goroutine of the test.
func Receive[T any](tb testing.TB, what string, c <-chan T) (v T) {
	tb.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		tb.Fatalf("waited %v in vain for %s\n\n%s", Patience, what, stacks)
	}
	return v
}

// Wait waits for a group, which is to say that what has happened.
func Wait(tb testing.TB, what string, group interface{ Wait() }) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	Receive(tb, what, done)
}
