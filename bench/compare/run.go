package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// result is the result of one comparison.
type result struct {
	comparison
	report *paired.Report // nil if it was left out
	left   error          // why it was left out
}

// errInterrupted means that only results from before the interrupt are available.
var errInterrupted = errors.New("interrupted")

// run makes the comparisons and shows the results.
func (f *flags) run(ctx context.Context) (err error) {
	selected := f.selected()
	if f.list {
		for _, c := range selected {
			fmt.Println(c)
		}
		return nil
	}
	if len(selected) == 0 {
		return errors.New("no comparison matches")
	}
	if f.options.Profile != "" {
		if f.options.Profile, err = profileDirectory(f.options.Profile); err != nil {
			return err
		}
	}
	csv, json := newOutput(f.csv), newOutput(f.json)
	defer func() { err = errors.Join(err, csv.close(), json.close()) }()
	if err := errors.Join(csv.failed, json.failed); err != nil { // fail early, not after minutes
		return err
	}
	dir, err := os.MkdirTemp("", "compare")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	undo, err := prepare(f.options.Sockets.Congestion)
	if err != nil {
		return err
	}
	defer func() {
		if e := undo(); ctx.Err() == nil { // otherwise the interrupt has ended everything already
			err = errors.Join(err, e)
		}
	}()
	results, err := compare(ctx, f.options, dir, selected, progressTo(os.Stderr))
	if ctx.Err() != nil {
		err = errInterrupted // replaces the errors that it caused
	}
	if len(results) > 0 {
		err = errors.Join(err, writeTable(os.Stdout, results))
	}
	return errors.Join(err, csv.write(results, writeCSV), json.write(results, writeJSON))
}

// progressTo returns f if it is a terminal, where a line can be overwritten, otherwise io.Discard.
func progressTo(f *os.File) io.Writer {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return io.Discard
	}
	return f
}

// profileDirectory makes a directory, and returns its absolute path.
func profileDirectory(path string) (string, error) {
	if err := os.MkdirAll(path, 0o777); err != nil {
		return "", err
	}
	return filepath.Abs(path)
}

// compare makes comparisons. A result says if and why a comparison was left out. It reports its
// progress to progress.
func compare(
	ctx context.Context, o paired.Options, dir string, selected []comparison, progress io.Writer,
) ([]result, error) {
	missing := make(map[string]error)
	for _, c := range selected {
		if _, known := missing[c.other]; !known {
			other, _ := find(c.other)
			missing[c.other] = nil
			if other.missing != nil {
				missing[c.other] = other.missing(dir)
			}
		}
	}
	var results []result
	begin, made := time.Now(), 0
	for i, c := range selected {
		r := result{comparison: c, left: missing[c.other]}
		if r.left == nil {
			about := ""
			if made > 0 {
				about = fmt.Sprintf("about %v left", (time.Since(begin) / time.Duration(made) *
					time.Duration(present(selected[i:], missing))).Round(time.Second))
			}
			fmt.Fprint(progress, progressLine(i+1, len(selected), about, c))
			made++
			theirs, ours := c.scenarios()
			var err error
			o := o
			if c.slow {
				o.Starts, o.Rounds = 1, 1
			}
			if r.report, err = paired.Compare(ctx, o, theirs, ours); err != nil {
				return results, err
			}
		}
		results = append(results, r)
	}
	fmt.Fprintf(progress, "\r%s\r", strings.Repeat(" ", 72))
	return results, nil
}

// present counts the comparisons that lack nothing.
func present(selected []comparison, missing map[string]error) (n int) {
	for _, c := range selected {
		if missing[c.other] == nil {
			n++
		}
	}
	return n
}

// progressLine says how many comparisons are done. about may be empty.
func progressLine(n, of int, about string, c comparison) string {
	if about != "" {
		about = ", " + about
	}
	return fmt.Sprintf("\r%-72s", fmt.Sprintf("%d of %d%s: %v", n, of, about, c))
}
