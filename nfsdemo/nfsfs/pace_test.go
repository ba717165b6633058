package nfsfs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"testing"
)

// TestPace: WriteTo calls Pace before each READ with the bytes to expect, and fails with its error.
func TestPace(t *testing.T) {
	var (
		mu     sync.Mutex
		total  int
		most   int
		errNow = errors.New("no more")
		fail   error
	)
	s := &hostile{stable: numbers(1234), volatile: numbers(1234)}
	f := s.open(t, t.Context(), Config{TransferSize: 100, Parallel: 3, Pace: func(_ context.Context, n int) error {
		mu.Lock()
		defer mu.Unlock()
		total += n
		most = max(most, n)
		return fail
	}}, os.O_RDONLY)
	var got bytes.Buffer
	if n, err := f.WriteTo(&got); n != 1234 || err != nil || !bytes.Equal(got.Bytes(), s.stable) {
		t.Error(n, err)
	}
	if total != 1234 || most != 100 {
		t.Errorf("asked for %d bytes, %d at a time, want 1234 and 100", total, most)
	}
	fail = errNow
	f.Seek(0, io.SeekStart)
	if n, err := f.WriteTo(io.Discard); n != 0 || !errors.Is(err, errNow) {
		t.Errorf("got %d, %v, want %v", n, err, errNow)
	}
	f.Close()
}
