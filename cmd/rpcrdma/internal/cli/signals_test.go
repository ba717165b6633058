package cli

import (
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestOnSignal: the first signal ends the context. After the time for repetitions, signals have
// their default action again.
func TestOnSignal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals := make(chan os.Signal, 1)
		ended, released := make(chan time.Time, 1), make(chan time.Time, 1)
		go onSignal(signals, RepeatTime, func(os.Signal) { ended <- time.Now() }, func() { released <- time.Now() })
		time.Sleep(time.Hour)
		if synctest.Wait(); len(ended) > 0 {
			t.Fatal("it has ended without a signal")
		}
		first := time.Now()
		signals <- syscall.SIGTERM
		synctest.Wait()
		signals <- syscall.SIGTERM
		if got := <-ended; !got.Equal(first) {
			t.Errorf("a signal at %v: ended at %v", first, got)
		}
		if got, want := <-released, first.Add(time.Second); !got.Equal(want) {
			t.Errorf("released at %v, want %v", got, want)
		}
	})
}
