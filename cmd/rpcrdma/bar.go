package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// barDelay is how long a transfer may take before it gets a progress bar.
const barDelay = time.Second / 2

// bar shows how far a transfer is, on a terminal, when it takes some time. What it is told may come from several goroutines.
type bar struct {
	w io.Writer // nil: nowhere

	mu    sync.Mutex // guards what follows
	what  string
	size  int64
	done  int64
	files [2]int // copied, found
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
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what, b.size, b.done, b.files, b.begun, b.shown = what, size, 0, [2]int{}, time.Now(), nil
}

func (b *bar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown != nil {
		_ = b.shown.Finish() // that a bar cannot be drawn is no reason to fail
	}
}

// grow adds a file to a transfer under way, and copied tells that one is through.
func (b *bar) grow(size int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.size += size
	b.files[1]++
	if b.shown != nil {
		b.shown.ChangeMax64(max(b.size, b.done))
		b.shown.Describe(b.title())
	}
}

func (b *bar) copied() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.files[0]++
	if b.shown != nil {
		b.shown.Describe(b.title())
	}
}

// title says how many files of those that are known are copied, if there are several.
func (b *bar) title() string {
	if b.files[1] < 2 {
		return b.what
	}
	return fmt.Sprintf("%s %d of %d files", b.what, b.files[0], b.files[1])
}

// hide makes room for a message.
func (b *bar) hide() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown != nil {
		_ = b.shown.Clear()
	}
}

// add counts bytes that were transferred.
func (b *bar) add(n int) {
	if b.w == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.done += int64(n)
	if b.shown == nil {
		if time.Since(b.begun) < barDelay {
			return
		}
		b.shown = progressbar.NewOptions64(max(b.size, b.done),
			progressbar.OptionSetWriter(b.w),
			progressbar.OptionSetDescription(b.title()),
			progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionFullWidth(),
			progressbar.OptionClearOnFinish())
	}
	if b.done > b.size { // of what has no size, or has grown
		b.shown.ChangeMax64(b.done + 1)
	}
	_ = b.shown.Set64(b.done)
}
