package transporttest

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// patience is how long the suite waits for an event before it fails. A busy machine under the race
// detector is slow.
const patience = 2 * time.Minute

// patient returns a context that ends with t, or after patience.
func patient(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// wait receives from c.
func wait[T any](t *testing.T, what string, c <-chan T) (v T) {
	t.Helper()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case v = <-c:
	case <-timer.C:
		hang(t, what)
	}
	return v
}

// waitAll waits for a group.
func waitAll(t *testing.T, what string, group *sync.WaitGroup) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		group.Wait()
		close(done)
	}()
	wait(t, what, done)
}

// hang fails t with the stacks of all goroutines.
func hang(t *testing.T, what string) {
	t.Helper()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	t.Fatalf("%s: waited %v in vain\n\n%s", what, patience, stacks)
}

// wantError checks that an error is want, wrapped as the contract says.
func wantError(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: got error %v, want %v", what, got, want)
		return
	}
	if problem := unwrapped(got); problem != "" {
		t.Errorf("%s: error %q %s", what, got, problem)
	}
}

// unwrapped returns what is wrong with the wrapping of a provider's error.
func unwrapped(err error) string {
	var op *transport.OpError
	switch {
	case !errors.As(err, &op):
		return "is no *transport.OpError"
	case op.Op == "" || op.Provider == "":
		return "lacks operation or provider"
	}
	return ""
}

// wantBytes checks memory.
func wantBytes(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if bytes.Equal(got, want) {
		return
	}
	if len(got) != len(want) {
		t.Errorf("%s: %d bytes, want %d", what, len(got), len(want))
		return
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("%s: byte %d of %d is %#x, want %#x", what, i, len(got), got[i], want[i])
			return
		}
	}
}
