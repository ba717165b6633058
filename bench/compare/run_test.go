package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// TestCompare makes comparisons in separate processes.
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
	if first, _, _ := strings.Cut(progress.String(), "2 of 3"); strings.Contains(first, "left") {
		t.Errorf("got an estimate before there was anything to estimate from: %q", first)
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

// TestRunInterrupted shows that an interrupted run prints one word, and that files keep their
// content if there are no results.
func TestRunInterrupted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.csv")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := parseFlags([]string{"-only", "^null-x1 ours ours-tcp$", "-csv", file})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = f.run(ctx)
	if !errors.Is(err, errInterrupted) || err.Error() != "interrupted" || exitCode(err) != 130 {
		t.Errorf("got error %v, exit code %d, want %v, 130", err, exitCode(err), errInterrupted)
	}
	if got, err := os.ReadFile(file); string(got) != "old" || err != nil {
		t.Errorf("got %q in the file, error %v", got, err)
	}
}

// TestRunFiles shows that files that cannot be written are reported before anything is measured.
func TestRunFiles(t *testing.T) {
	absent := filepath.Join(t.TempDir(), "absent", "file")
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // before another error can occur
	for _, flag := range []string{"-csv", "-json"} {
		f, err := parseFlags([]string{flag, absent})
		if err != nil {
			t.Fatal(err)
		}
		if err := f.run(ctx); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, errInterrupted) || exitCode(err) != 1 {
			t.Errorf("%s: got error %v, exit code %d", flag, err, exitCode(err))
		}
	}
}

// TestOutput shows that a file has the results only, even if it was longer before.
func TestOutput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results")
	if err := os.WriteFile(file, []byte("old and long"), 0o600); err != nil {
		t.Fatal(err)
	}
	o := newOutput(file)
	err := o.write(results, func(w io.Writer, _ []result) error {
		_, err := io.WriteString(w, "new")
		return err
	})
	if err := errors.Join(err, o.close()); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); string(got) != "new" || err != nil {
		t.Errorf("got %q, error %v, want %q", got, err, "new")
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
