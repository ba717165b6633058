package main

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"
)

// A transfer that takes longer than barDelay gets a bar, which is drawn anew each barPause.
const (
	barDelay = time.Second / 2
	barPause = time.Second / 5
)

// bar shows on a terminal how far a transfer is, when it takes some time, and writes messages, each on a line of its own. What
// it is told may come from several goroutines.
type bar struct {
	w     io.Writer  // for messages, and the bar
	width func() int // of the terminal, in columns; nil: there is none, and no bar

	mu    sync.Mutex // guards what follows
	state barState
	shown int    // columns of what is on the last line
	stop  func() // ends what draws
}

// newBar returns a bar that is shown on w, if that is a terminal.
func newBar(w io.Writer) *bar {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return &bar{w: w}
	}
	return &bar{w: w, width: func() int {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
		return 80
	}}
}

// begin begins a transfer of size bytes, 0 if that is not known yet. It is followed by end.
func (b *bar) begin(what string, size int64) {
	if b.width == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = newBarState(what, size, time.Now())
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		b.run(stop)
	}()
	b.stop = func() {
		close(stop)
		<-stopped
	}
}

// end ends a transfer, and takes the bar away.
func (b *bar) end() {
	if b.width != nil {
		b.stop()
	}
}

// run draws the bar until the transfer ends.
func (b *bar) run(stop <-chan struct{}) {
	wait := time.NewTimer(barDelay)
	defer wait.Stop()
	for {
		select {
		case <-stop:
			b.mu.Lock()
			defer b.mu.Unlock()
			b.clear()
			return
		case now := <-wait.C:
			b.mu.Lock()
			b.state.sample(now)
			b.draw()
			b.mu.Unlock()
			wait.Reset(barPause)
		}
	}
}

// draw draws the bar over what there was; b.mu is held.
func (b *bar) draw() {
	// A line as wide as the terminal would make it scroll.
	line := b.state.line(b.width() - 1)
	columns := utf8.RuneCountInString(line)
	_, _ = io.WriteString(b.w, "\r"+line+strings.Repeat(" ", max(0, b.shown-columns)))
	b.shown = columns
}

// clear makes room for something else; b.mu is held.
func (b *bar) clear() {
	if b.shown > 0 {
		_, _ = io.WriteString(b.w, "\r"+strings.Repeat(" ", b.shown)+"\r")
		b.shown = 0
	}
}

// Write writes a message of whole lines.
func (b *bar) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	again := b.shown > 0
	b.clear()
	n, err := b.w.Write(p)
	if again && err == nil {
		b.draw()
	}
	return n, err
}

// tell changes what is known of the transfer, if somebody wants to know.
func (b *bar) tell(change func(s *barState)) {
	if b.width == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.state)
}

// grow adds a file to a transfer under way, copied tells that one is through, and complete that there are no others.
func (b *bar) grow(size int64) { b.tell(func(s *barState) { s.size += size; s.found++ }) }
func (b *bar) copied()         { b.tell(func(s *barState) { s.copied++ }) }
func (b *bar) complete()       { b.tell(func(s *barState) { s.complete = true }) }

// add counts bytes that were transferred.
func (b *bar) add(n int) { b.tell(func(s *barState) { s.done += int64(n) }) }
