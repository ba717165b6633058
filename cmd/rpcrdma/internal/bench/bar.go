package bench

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
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// benchBar shows on a terminal how far a benchmark is, and how long it will still take. Elsewhere
// it prints the time once, before the first point. What is written to it are messages, each on its
// own line.
type benchBar struct {
	w     io.Writer
	limit time.Duration
	mu    sync.Mutex // guards what follows
	begun bool
	line  *progressbar.ProgressBar // nil: it has not begun, or there is no terminal
}

func newBar(w io.Writer, limit time.Duration) *benchBar { return &benchBar{w: w, limit: limit} }

// begin shows it.
func (b *benchBar) begin(points, rounds int) {
	b.begun = true
	f, ok := b.w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		what := "points"
		if points == 1 {
			what = "point"
		}
		fmt.Fprintf(b.w, "rpcrdma: measuring %d %s, for up to %v\n", points, what, b.limit)
		return
	}
	b.line = progressbar.NewOptions(rounds,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetPredictTime(false), // the limit is known
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionShowCount(),
		progressbar.OptionFullWidth())
}

// progress draws it. It ignores errors of drawing.
func (b *benchBar) progress(p bench.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.begun {
		b.begin(p.Points, p.Total)
	}
	if b.line == nil {
		return
	}
	left := int(p.Left.Round(time.Second).Seconds())
	z := cli.Size(p.Point.Size)
	b.line.Describe(fmt.Sprintf("%d:%02d left  %-32s", left/60, left%60,
		strings.Join([]string{string(p.Point.Path), string(p.Point.Way), z.String()}, " ")))
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
