package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// screen returns the lines that a terminal shows of some output.
func screen(out string) string {
	var lines []string
	for _, line := range strings.Split(out, "\n") {
		var shown []rune
		for _, part := range strings.Split(line, "\r") {
			part := []rune(part)
			shown = append(part, shown[min(len(part), len(shown)):]...)
		}
		// without what spins
		lines = append(lines, strings.TrimLeft(strings.TrimRight(string(shown), " "), `|/-\ `))
	}
	return strings.Join(lines, "\n")
}

// TestBar: what a terminal shows during a transfer.
func TestBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := &Bar{W: &out, Terminal: true}
		at := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			b.Mu.Lock()
			defer b.Mu.Unlock()
			if got := screen(out.String()); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		}
		b.Begin("get", 0)
		b.Grow(1e6)
		b.Add(5e5)
		at(barDelay-1, "")
		at(1, "get 489 KiB so far, 977 KiB/s")
		b.Grow(3e6)
		b.Copied()
		fmt.Fprintln(b, "rpcrdma: host is away")
		at(0, "rpcrdma: host is away\nget 1 files, 489 KiB so far, 977 KiB/s")
		b.Complete()
		at(barPause, "rpcrdma: host is away\nget 1 of 2 files, 489 KiB of 3.9 MiB, 698 KiB/s, 5s left  12% |█"+strings.Repeat(" ", 12)+"|")
		at(time.Minute, "rpcrdma: host is away\nget 1 of 2 files, 489 KiB of 3.9 MiB, 0 B/s  12% |███"+strings.Repeat(" ", 23)+"|")
		fmt.Fprintln(b, "rpcrdma: host is back")
		b.End()
		at(0, "rpcrdma: host is away\nrpcrdma: host is back\n")

		out.Reset()
		b.Begin("put", 0)
		b.Grow(4e6)
		b.Complete()
		b.Add(1e6)
		at(barDelay, "put 977 KiB of 3.9 MiB, 2.0 MiB/s, 2s left  25% |"+strings.Repeat("█", 6)+strings.Repeat(" ", 21)+"|")
		b.Add(5e6) // it has grown
		at(barPause, "put 5.8 MiB of 5.8 MiB, 8.2 MiB/s  99% |"+strings.Repeat("█", 35)+" |")
		b.End()
		at(0, "")
		fmt.Fprintln(b, "put: 1 file")
		at(time.Hour, "put: 1 file\n")

		out.Reset()
		b.Begin("get", 100)
		b.Add(50)
		b.End()
		fmt.Fprintln(b, "short")
		at(time.Hour, "short\n")
	})
}

// TestBarNowhere: without a terminal there is no bar.
func TestBarNowhere(t *testing.T) {
	var out bytes.Buffer
	b := NewBar(&out)
	synctest.Test(t, func(t *testing.T) {
		b.Begin("get", 100)
		b.Grow(100)
		b.Add(50)
		time.Sleep(time.Hour)
		b.Copied()
		fmt.Fprintln(b, "a message")
		b.End()
	})
	if got, want := out.String(), "a message\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
