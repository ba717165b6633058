// Package hang helps tests that wait. A test that waits too long fails with what it waited for, and
// with the stacks of all goroutines, well before the time limit of go test.
package hang

import (
	"runtime"
	"testing"
	"time"
)

// Patience is how long a test waits before it fails. It is generous, because a busy machine under
// the race detector takes thirty times as long.
const Patience = 2 * time.Minute

// Receive receives from c, and fails the test if nothing arrives within Patience. The failure
// message contains what. Receive returns the zero value when c is closed. Call it on the test's
// goroutine.
func Receive[T any](tb testing.TB, what string, c <-chan T) (v T) {
	tb.Helper()
	timer := time.NewTimer(Patience)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		inVain(tb, " for "+what)
	}
	return v
}

// Wait waits for a group, and fails the test after Patience. The failure message contains what.
func Wait(tb testing.TB, what string, group interface{ Wait() }) {
	tb.Helper()
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	Receive(tb, what, done)
}

// Until waits until a condition holds that no channel announces, and fails the test after Patience.
// The failure message contains what. Call it on the test's goroutine.
func Until(tb testing.TB, what string, holds func() bool) {
	tb.Helper()
	for end := time.Now().Add(Patience); !holds(); time.Sleep(pace) {
		if time.Now().After(end) {
			inVain(tb, ": "+what)
		}
	}
}

// pace is how often Until looks.
const pace = time.Millisecond

func inVain(tb testing.TB, what string) {
	tb.Helper()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	tb.Fatalf("waited %v in vain%s\n\n%s", Patience, what, stacks)
}
