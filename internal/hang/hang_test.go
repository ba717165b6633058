package hang_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
)

// recorder is a test that panics when it fails.
type recorder struct{ testing.TB }

func (recorder) Helper() {}
func (recorder) Fatalf(format string, args ...any) {
	panic(fmt.Sprintf(format, args...))
}

// failure returns the message with which f fails a test.
func failure(f func(tb testing.TB)) (said string) {
	defer func() { said, _ = recover().(string) }()
	f(recorder{})
	return ""
}

func TestReceive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := make(chan int, 1)
		time.AfterFunc(hang.Patience-1, func() { c <- 7 })
		if got := hang.Receive(t, "a number", c); got != 7 {
			t.Errorf("got %d, want 7", got)
		}
		close(c)
		if got := hang.Receive(t, "the end", c); got != 0 {
			t.Errorf("got %d, want 0", got)
		}
		got := failure(func(tb testing.TB) { hang.Receive(tb, "a word", make(chan string)) })
		if !strings.HasPrefix(got, "waited 2m0s in vain for a word\n") ||
			!strings.Contains(got, "goroutine ") {
			t.Errorf("got %q, want what it waited for, and stacks", got)
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var group sync.WaitGroup
		group.Go(func() { time.Sleep(hang.Patience - 1) })
		hang.Wait(t, "a nap", &group)
		group.Go(func() { time.Sleep(hang.Patience + 1) })
		got := failure(func(tb testing.TB) { hang.Wait(tb, "a sleep", &group) })
		if !strings.HasPrefix(got, "waited 2m0s in vain for a sleep\n") {
			t.Errorf("got %q, want what it waited for", got)
		}
		group.Wait()
	})
}

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		hang.Until(t, "it is late", func() bool { return time.Since(began) >= hang.Patience })
		never := func() bool { return false }
		got := failure(func(tb testing.TB) { hang.Until(tb, "it is not over", never) })
		if !strings.HasPrefix(got, "waited 2m0s in vain: it is not over\n") ||
			!strings.Contains(got, "goroutine ") {
			t.Errorf("got %q, want what it waited for, and stacks", got)
		}
	})
}
