package copying

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// result is the result of a copy, as --json prints it (docs/json.md).
type result struct {
	Command        string  `json:"command"`
	DryRun         bool    `json:"dry_run"`
	Files          int64   `json:"files"`
	Bytes          int64   `json:"bytes"`
	Seconds        float64 `json:"seconds"`
	BytesPerSecond int64   `json:"bytes_per_second"`
	Skipped        int64   `json:"skipped"`
	Failed         int64   `json:"failed"`
}

// result sums up a copy that has taken some time.
func (t *teller) result(took time.Duration) result {
	r := result{
		Command: t.verb,
		DryRun:  t.opt.dryRun,
		Files:   t.files.Load(),
		Bytes:   t.bytes.Load(),
		Seconds: took.Seconds(),
		Skipped: t.skipped.Load(),
		Failed:  t.failed.Load(),
	}
	if took > 0 {
		r.BytesPerSecond = int64(float64(r.Bytes) / took.Seconds())
	}
	return r
}

// String is the line at the end of a copy.
func (r result) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d file", r.Command, r.Files)
	if r.Files != 1 {
		b.WriteString("s")
	}
	if r.DryRun {
		b.WriteString(" would be copied")
	} else {
		fmt.Fprintf(&b, ", %s in %v, %s/s", cli.Bytes(r.Bytes), rounded(r.Seconds),
			cli.Bytes(r.BytesPerSecond))
	}
	if r.Skipped > 0 {
		fmt.Fprintf(&b, ", %d skipped", r.Skipped)
	}
	if r.Failed > 0 {
		fmt.Fprintf(&b, ", %d failed", r.Failed)
	}
	return b.String()
}

// rounded rounds seconds to about three digits.
func rounded(seconds float64) time.Duration {
	d, unit := time.Duration(seconds*float64(time.Second)), time.Millisecond
	for d > 1000*unit && unit < time.Second {
		unit *= 10
	}
	return d.Round(unit)
}

// sum prints the result of the copy, unless a single error has said it all.
func (t *teller) sum() error {
	r := t.result(time.Since(t.began))
	switch {
	case t.opt.json:
		return cli.WriteJSON(t.results, r)
	case t.opt.quiet, r.Files+r.Skipped == 0 && r.Failed == 1:
		return nil
	}
	_, err := io.WriteString(t.bar, r.String()+"\n")
	return err
}
