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

// Interruptible is an output that nobody may read, such as a pipe to a pager. A Write returns when
// the context ends; its buffer may then still be read, until the process ends.
type Interruptible struct {
	Ctx context.Context
	W   io.Writer
}

// Write writes p.
func (i Interruptible) Write(p []byte) (int, error) {
	return untilEnd(i.Ctx, func() (int, error) { return i.W.Write(p) })
}

// InterruptibleReader is an input that may have nothing to read for long, such as a terminal. A
// Read returns when the context ends; its buffer may then still be written to, until the process
// ends.
type InterruptibleReader struct {
	Ctx context.Context
	R   io.Reader
}

// Read reads into p.
func (i InterruptibleReader) Read(p []byte) (int, error) {
	return untilEnd(i.Ctx, func() (int, error) { return i.R.Read(p) })
}

// untilEnd waits until do returns or the context ends.
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

// CheckedWriter remembers an error of the writer below, so that a command whose output is lost does
// not report success.
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
