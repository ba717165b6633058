package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// barDelay is how long a transfer may take before it gets a progress bar.
const barDelay = time.Second / 2

// bar shows how far a transfer is, on a terminal, when it takes some time.
type bar struct {
	w     io.Writer // nil: nowhere
	what  string
	size  int64
	done  int64
	begun time.Time
	shown *progressbar.ProgressBar
}

// newBar returns a bar that is shown on w, if that is a terminal.
func newBar(w io.Writer) *bar {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &bar{w: w}
	}
	return &bar{}
}

// begin begins a transfer of size bytes, end ends it.
func (b *bar) begin(what string, size int64) {
	*b = bar{w: b.w, what: what, size: size, begun: time.Now()}
}

func (b *bar) end() {
	if b.shown != nil {
		_ = b.shown.Finish() // that a bar cannot be drawn is no reason to fail
	}
}

// add counts bytes that were transferred.
func (b *bar) add(n int) {
	if b.w == nil {
		return
	}
	b.done += int64(n)
	if b.shown == nil {
		if time.Since(b.begun) < barDelay {
			return
		}
		b.shown = progressbar.NewOptions64(b.size,
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription(b.what),
			progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish())
	}
	_ = b.shown.Set64(b.done)
}
