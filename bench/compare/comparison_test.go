package main

import (
	"math"
	"regexp"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

func TestComparisonsAreOfContenders(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range comparisons() {
		if _, ok := find(c.ours); !ok {
			t.Errorf("%v: no contender is named %q", c, c.ours)
		}
		if _, ok := find(c.other); !ok && (c.other != rawTCP || !c.workload.bulk()) {
			t.Errorf("%v: no contender is named %q", c, c.other)
		}
		if seen[c.String()] {
			t.Errorf("%v is there twice", c)
		}
		seen[c.String()] = true
		if c.owed > c.goal {
			t.Errorf("%v: got %v owed, want no more than the goal of %v", c, c.owed, c.goal)
		}
	}
}

func TestSelected(t *testing.T) {
	for _, tt := range []struct {
		name  string
		args  []string
		want  []string // expressions that must each match a selected comparison
		never []string // expressions that must match none
	}{
		{"default", nil, []string{"^read-1024KiBx1 ours ganesha.libnfs$", "^list-10000 ours go-nfs"}, []string{"ours-crc", "list-100000", "ours-tcp.libnfs"}},
		{"large", []string{"-large"}, []string{"^list-100000 ours ganesha.libnfs$"}, []string{"list-100000 ours go-nfs"}},
		{"only", []string{"-only", "null-x64.*vmware"}, []string{"null-x64 ours go-nfs.vmware"}, []string{"willscott", "read", "null-x1"}},
		{"only extra", []string{"-only", "write.*ours-crc ours$"}, []string{"write-1024KiBx1 ours-crc ours"}, []string{"ganesha"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, err := parseFlags(tt.args)
			if err != nil {
				t.Fatal(err)
			}
			matches := func(expr string) (n int) {
				for _, c := range f.selected() {
					if regexp.MustCompile(expr).MatchString(c.String()) {
						n++
					}
				}
				return n
			}
			for _, expr := range tt.want {
				if matches(expr) == 0 {
					t.Errorf("got nothing that matches %q", expr)
				}
			}
			for _, expr := range tt.never {
				if n := matches(expr); n != 0 {
					t.Errorf("got %d that match %q, want none", n, expr)
				}
			}
		})
	}
}

// took returns a report of a workload with the given times of both sides.
func took(w workload, theirs, ours time.Duration) *paired.Report {
	s := paired.Scenario{Metric: w.metric(), Bytes: w.size}
	m := func(d time.Duration) paired.Measurement {
		return paired.Measurement{Operations: 1, Elapsed: d, P50: d, Server: paired.Usage{CPU: d}, Client: paired.Usage{CPU: d}}
	}
	return &paired.Report{Yardstick: s, Candidate: s, Rounds: []paired.Round{{Yardstick: m(theirs), Candidate: m(ours)}}}
}

func TestRatio(t *testing.T) {
	for _, w := range []workload{read, nulls, list} {
		t.Run(w.String(), func(t *testing.T) {
			got := ratio(took(w, 3*time.Millisecond, 2*time.Millisecond)).Median
			if want := 1.5; math.Abs(got-want) > 1e-9 {
				t.Errorf("got %v, want %v, as ours took less time", got, want)
			}
		})
	}
}

func TestVerdict(t *testing.T) {
	c := comparison{bounds: bounds{owed: 1.2, goal: 1.6}}
	for _, tt := range []struct {
		c     comparison
		ratio float64
		want  string
	}{
		{c, 1.19, "missed"},
		{c, 1.2, "owed"},
		{c, 1.6, "goal"},
		{comparison{}, 0.1, ""},
		{c, math.NaN(), ""},
	} {
		if got := tt.c.verdict(tt.ratio); got != tt.want {
			t.Errorf("%v of %v: got %q, want %q", tt.ratio, tt.c.bounds, got, tt.want)
		}
	}
}
