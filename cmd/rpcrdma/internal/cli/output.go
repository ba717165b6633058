package cli

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// OnTerminal reports whether a command's output is shown on a terminal.
func OnTerminal(cmd *cobra.Command) bool {
	w := cmd.OutOrStdout()
	if c, ok := w.(*CheckedWriter); ok {
		w = c.W
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Interruptible is an output that may not be read, such as a pipe to a pager: a write ends with the
// context. The bytes of one that ended so may be used still, until the process ends.
type Interruptible struct {
	Ctx context.Context
	W   io.Writer
}

// Write writes p.
func (i Interruptible) Write(p []byte) (int, error) {
	return untilEnd(i.Ctx, func() (int, error) { return i.W.Write(p) })
}

// InterruptibleReader is an input that may have nothing to read for long, such as a terminal: a
// read ends with the context. The bytes of one that ended so may be written still, until the
// process ends.
type InterruptibleReader struct {
	Ctx context.Context
	R   io.Reader
}

// Read reads into p.
func (i InterruptibleReader) Read(p []byte) (int, error) {
	return untilEnd(i.Ctx, func() (int, error) { return i.R.Read(p) })
}

// untilEnd waits for what do does, or for the end of the context.
func untilEnd(ctx context.Context, do func() (int, error)) (int, error) {
	type outcome struct {
		n   int
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		n, err := do()
		done <- outcome{n, err}
	}()
	select {
	case o := <-done:
		return o.n, o.err
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// CheckedWriter remembers an error of the writer below, so that what could not be printed is not
// reported as done.
type CheckedWriter struct {
	W   io.Writer
	Err error
}

func (c *CheckedWriter) Write(p []byte) (int, error) {
	n, err := c.W.Write(p)
	if c.Err == nil {
		c.Err = err
	}
	return n, err
}
