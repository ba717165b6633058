package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// TestCompare makes comparisons in processes of their own.
func TestCompare(t *testing.T) {
	o := paired.Options{Starts: 1, Rounds: 2, Time: time.Millisecond, Limit: time.Minute}
	selected := []comparison{
		{workload: nulls, ours: "ours", other: "go-nfs+willscott"},
		{workload: write, ours: "ours", other: rawTCP},
		{workload: reads, ours: "ours-crc", other: "ours-tcp", slow: true},
	}
	var progress bytes.Buffer
	results, err := compare(t.Context(), o, t.TempDir(), selected, &progress)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != len(selected) {
		t.Fatalf("got %d results, want %d", len(results), len(selected))
	}
	for i, want := range []int{2, 2, 1} {
		r := results[i]
		if got := len(r.report.Rounds); got != want {
			t.Errorf("%v: got %d rounds, want %d", r, got, want)
		}
		if got := ratio(r.report).Median; got <= 0 {
			t.Errorf("%v: got a ratio of %v", r, got)
		}
		if !strings.Contains(progress.String(), r.String()) {
			t.Errorf("progress does not tell of %v", r)
		}
	}
}

func TestCompareLeavesOut(t *testing.T) {
	absent := errors.New("it is not here")
	all := contenders
	defer func() { contenders = all }()
	contenders = append([]contender{{name: "absent", missing: func(string) error { return absent }}}, contenders...)
	results, err := compare(t.Context(), paired.Options{}, t.TempDir(), []comparison{{workload: null, ours: "ours", other: "absent"}}, io.Discard)
	if err != nil || len(results) != 1 || results[0].left != absent || results[0].report != nil {
		t.Errorf("got %+v, %v, want one that was left out", results, err)
	}
}

func TestCommandErrors(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want int
	}{
		{"help", []string{"-help"}, 0},
		{"unknown flag", []string{"-nonsense"}, 2},
		{"bad expression", []string{"-only", "("}, 2},
		{"argument", []string{"everything"}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := command(t.Context(), tt.args); got != tt.want {
				t.Errorf("got exit code %d, want %d", got, tt.want)
			}
		})
	}
}
