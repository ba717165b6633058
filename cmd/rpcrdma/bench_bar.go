package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"

	"github.com/rpcrdma/go-rpcrdma/bench"
)

// benchBar shows on a terminal how far a benchmark is, and how long it will take still; elsewhere just the latter, once. What is
// written to it are messages, each on a line of its own.
type benchBar struct {
	w    io.Writer
	mu   sync.Mutex // guards line
	line *progressbar.ProgressBar
}

func newBenchBar(w io.Writer, points int, limit time.Duration) *benchBar {
	b := &benchBar{w: w}
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		fmt.Fprintf(w, "rpcrdma: measuring %d points, for up to %v\n", points, limit)
		return b
	}
	b.line = progressbar.NewOptions(points,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetPredictTime(false), // the limit is known
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionShowCount(),
		progressbar.OptionFullWidth())
	return b
}

// progress draws it. That it cannot be drawn is no reason to fail.
func (b *benchBar) progress(p bench.Progress) {
	if b.line == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	left := int(p.Left.Round(time.Second).Seconds())
	z := size(p.Point.Size)
	b.line.Describe(fmt.Sprintf("%d:%02d left  %-32s", left/60, left%60, strings.Join([]string{string(p.Point.Path), string(p.Point.Way), z.String()}, " ")))
	_ = b.line.Set(p.Done)
}

// Write writes a message.
func (b *benchBar) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line != nil {
		_ = b.line.Clear()
	}
	return b.w.Write(p)
}

// end takes it away.
func (b *benchBar) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.line != nil {
		_ = b.line.Clear()
	}
}
