package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// barOn returns a bar on a terminal of 80 columns.
func barOn(out *bytes.Buffer) *bar { return &bar{w: out, width: func() int { return 80 }} }

// screen returns the lines that a terminal shows of some output.
func screen(out string) string {
	var lines []string
	for _, line := range strings.Split(out, "\n") {
		var shown []rune
		for _, part := range strings.Split(line, "\r") {
			part := []rune(part)
			shown = append(part, shown[min(len(part), len(shown)):]...)
		}
		lines = append(lines, strings.TrimRight(string(shown), " "))
	}
	return strings.Join(lines, "\n")
}

// TestBar: what a terminal shows in the course of a transfer.
func TestBar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		b := barOn(&out)
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
		at(1, "get 0 files, 500 kB, 1.0 MB/s") // since the transfer has begun
		b.grow(3e6)
		b.copied()
		fmt.Fprintln(b, "rpcrdma: host is away")
		at(0, "rpcrdma: host is away\nget 1 files, 500 kB, 1.0 MB/s")
		b.complete()
		at(barPause, "rpcrdma: host is away\nget [##                ]  12% 1 of 2 files, 500 kB of 4.0 MB, 714 kB/s, 4s left")
		at(time.Minute, "rpcrdma: host is away\nget [###                           ]  12% 1 of 2 files, 500 kB of 4.0 MB, 0 B/s")
		fmt.Fprintln(b, "rpcrdma: host is back")
		b.end()
		at(0, "rpcrdma: host is away\nrpcrdma: host is back\n")

		out.Reset()
		b.begin("get", 100)
		b.add(50)
		b.end()
		fmt.Fprintln(b, "short")
		at(time.Hour, "short\n")
	})
}

// TestBarLine: what is known of a transfer, and nothing else, is told.
func TestBarLine(t *testing.T) {
	begin := time.Unix(0, 0)
	for _, tt := range []struct {
		name    string
		state   barState
		columns int
		want    string
	}{
		{"a file", barState{done: 40e6, size: 100e6, found: 1, complete: true}, 79, "put [############                  ]  40% 40.0 MB of 100 MB, 4.0 MB/s, 15s left"},
		{"a narrow terminal", barState{done: 40e6, size: 100e6, found: 1, complete: true}, 20, "put  40% 40.0 MB of "},
		{"no room", barState{done: 40e6, size: 100e6, found: 1, complete: true}, -1, ""},
		{"a stream", barState{done: 40e6}, 79, "put 40.0 MB, 4.0 MB/s"},
		{"a stream that waits", barState{}, 79, "put 0 B"},
		{"a file that has grown", barState{done: 101e6, size: 100e6, found: 1, complete: true}, 79, "put 101 MB, 10.1 MB/s"},
		{"a tree", barState{done: 40e6, size: 100e6, copied: 7, found: 15}, 79, "put 7 files, 40.0 MB, 4.0 MB/s"},
		{"all of a tree", barState{done: 40e6, size: 100e6, copied: 7, found: 15, complete: true}, 79, "put [######         ]  40% 7 of 15 files, 40.0 MB of 100 MB, 4.0 MB/s, 15s left"},
		{"empty files", barState{copied: 7, found: 15}, 79, "put 7 files"},
		{"all of the empty files", barState{copied: 7, found: 14, complete: true}, 79, "put [####################                    ]  50% 7 of 14 files"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newBarState("put", 0, begin)
			s.done, s.size, s.copied, s.found, s.complete = tt.state.done, tt.state.size, tt.state.copied, tt.state.found, tt.state.complete
			s.sample(begin.Add(10 * time.Second))
			if got := s.line(tt.columns); got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestBarRate: the rate is that of the last seconds, from the first on.
func TestBarRate(t *testing.T) {
	now := time.Unix(0, 0)
	s := newBarState("get", 0, now)
	for range 2 * rateSamples {
		now = now.Add(time.Second)
		s.done += 1000
		s.sample(now)
		if got := s.rate(); got != 1000 {
			t.Fatalf("after %v: got %v", now.Sub(time.Unix(0, 0)), got)
		}
	}
	for range rateSamples {
		now = now.Add(time.Second)
		s.sample(now)
	}
	if got := s.rate(); got != 0 {
		t.Errorf("stalled: got %v", got)
	}
}

func TestMetric(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 999: "999 B", 1000: "1.0 kB", 12345: "12.3 kB", 99_949: "99.9 kB", 99_951: "100 kB", 999_499: "999 kB", 999_500: "1.0 MB",
		5e9: "5.0 GB", 7e12: "7.0 TB", 1<<63 - 1: "9.2 EB",
	} {
		if got := metric(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
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
