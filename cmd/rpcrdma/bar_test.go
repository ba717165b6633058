package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/spf13/cobra"
)

// barOn returns a bar on a terminal.
func barOn(out *bytes.Buffer) *bar { return &bar{w: out, terminal: true} }

// screen returns the lines that a terminal shows of some output.
func screen(out string) string {
	var lines []string
	for _, line := range strings.Split(out, "\n") {
		var shown []rune
		for _, part := range strings.Split(line, "\r") {
			part := []rune(part)
			shown = append(part, shown[min(len(part), len(shown)):]...)
		}
		lines = append(lines, strings.TrimLeft(strings.TrimRight(string(shown), " "), `|/-\ `)) // without what spins
	}
	return strings.Join(lines, "\n")
}

// TestBar: what a terminal shows in the course of a transfer.
func TestBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := &bar{w: &out, terminal: true}
		at := func(after time.Duration, want string) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			b.mu.Lock()
			defer b.mu.Unlock()
			if got := screen(out.String()); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		}
		b.begin("get", 0)
		b.grow(1e6)
		b.add(5e5)
		at(barDelay-1, "")
		at(1, "get (500 kB, 1.0 MB/s) [0s]") // since the transfer has begun
		b.grow(3e6)
		b.copied()
		fmt.Fprintln(b, "rpcrdma: host is away")
		at(0, "rpcrdma: host is away\nget 1 files (500 kB, 1.0 MB/s) [0s]")
		b.complete()
		at(barPause, "rpcrdma: host is away\nget 1 of 2 files, 12% (500 kB, 714 kB/s) [0s]")
		at(time.Minute, "rpcrdma: host is away\nget 1 of 2 files, 12% (500 kB) [1m0s]")
		fmt.Fprintln(b, "rpcrdma: host is back")
		b.end()
		at(0, "rpcrdma: host is away\nrpcrdma: host is back\n")

		out.Reset()
		b.begin("put", 0)
		b.grow(4e6)
		b.complete()
		b.add(1e6)
		at(barDelay, "put  25% |"+strings.Repeat("█", 9)+strings.Repeat(" ", 28)+"| (1.0/4.0 MB, 2.0 MB/s) [0s:1s]")
		b.add(5e6) // it has grown
		at(barPause, "put  99% |"+strings.Repeat("█", 36)+" | (4.0/4.0 MB, 5.7 MB/s) [0s:0s]")
		b.end()
		at(0, "")

		out.Reset()
		b.begin("get", 100)
		b.add(50)
		b.end()
		fmt.Fprintln(b, "short")
		at(time.Hour, "short\n")
	})
}

// TestBarNowhere: what is no terminal gets no bar.
func TestBarNowhere(t *testing.T) {
	var out bytes.Buffer
	b := newBar(&out)
	synctest.Test(t, func(t *testing.T) {
		b.begin("get", 100)
		b.grow(100)
		b.add(50)
		time.Sleep(time.Hour)
		b.copied()
		fmt.Fprintln(b, "a message")
		b.end()
	})
	if got, want := out.String(), "a message\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestBarOfCopy: what is said of a server while files are copied does not go past the bar.
func TestBarOfCopy(t *testing.T) {
	var out bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&out)
	var r remotes
	c := (&copyOptions{}).newCopier(cmd, &r, "get", false)
	if got := r.stderr(); got != c.bar {
		t.Errorf("it goes to %T, want the bar", got)
	}
	c.tell(about("file", errDirectory))
	if got, want := out.String(), "rpcrdma get file: is a directory: -r copies it\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
