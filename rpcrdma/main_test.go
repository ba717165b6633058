package rpcrdma_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"reflect"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for an event before it fails.
const patience = hang.Patience

// waitFor waits for a condition that no channel announces.
func waitFor(t testing.TB, cond func() bool) {
	t.Helper()
	waitRight(t, func() (wrong string) {
		if !cond() {
			wrong = "it did not come to that"
		}
		return wrong
	})
}

// waitRight waits until nothing is wrong.
func waitRight(t rapid.TB, wrong func() string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Microsecond) {
		what := wrong()
		if what == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

var quiet = slog.New(slog.DiscardHandler)

// wait receives from ch, or fails the test.
func wait[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	return hang.Receive(t, fmt.Sprintf("a value of type %v", reflect.TypeFor[T]()), ch)
}

// ended checks that the connection has ended.
func ended(t testing.TB, c *rpcrdma.Conn) {
	t.Helper()
	wait(t, c.Done())
	if err := c.Err(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Err() = %v, want net.ErrClosed", err)
	}
}
