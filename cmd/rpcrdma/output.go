package main

import (
	"context"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// onTerminal reports whether a command's output is shown on a terminal.
func onTerminal(cmd *cobra.Command) bool {
	w := cmd.OutOrStdout()
	if c, ok := w.(*checkedWriter); ok {
		w = c.w
	}
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// interruptible is an output that may not be read, such as a pipe to a pager: a write ends with the context. The
// bytes of one that ended so may be used still, until the process ends.
type interruptible struct {
	ctx context.Context
	w   io.Writer
}

// Write writes p.
func (i interruptible) Write(p []byte) (int, error) {
	return untilEnd(i.ctx, func() (int, error) { return i.w.Write(p) })
}

// interruptibleReader is an input that may have nothing to read for long, such as a terminal: a read ends with the context. The
// bytes of one that ended so may be written still, until the process ends.
type interruptibleReader struct {
	ctx context.Context
	r   io.Reader
}

// Read reads into p.
func (i interruptibleReader) Read(p []byte) (int, error) {
	return untilEnd(i.ctx, func() (int, error) { return i.r.Read(p) })
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
