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

// A transfer that takes longer than barDelay gets a bar, which is drawn anew each barPause.
const (
	barDelay = time.Second / 2
	barPause = time.Second / 5
)

// bar shows on a terminal how far a transfer is, when it takes some time, and writes messages, each on a line of its own. What
// it is told may come from several goroutines.
type bar struct {
	w        io.Writer // for messages, and the bar
	terminal bool      // else there is no bar

	mu    sync.Mutex // guards what follows
	state barState
	line  *progressbar.ProgressBar
	known bool // line knows the size: it cannot learn it when it has begun to count
	shown bool
	stop  func() // ends what draws
}

// barState is what is known of a transfer.
type barState struct {
	what     string
	done     int64 // bytes
	size     int64 // bytes of all files that were found
	copied   int   // files
	found    int   // files; 0: it is one, or none
	complete bool  // no further files will be found
}

// newBar returns a bar that is shown on w, if that is a terminal.
func newBar(w io.Writer) *bar {
	f, ok := w.(*os.File)
	return &bar{w: w, terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// begin begins a transfer of size bytes, 0 if that is not known yet. It is followed by end.
func (b *bar) begin(what string, size int64) {
	if !b.terminal {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = barState{what: what, size: size, complete: size > 0}
	b.shown = false
	b.draft()
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

// draft makes the line, which counts from now on; b.mu is held.
func (b *bar) draft() {
	size := int64(-1)
	if b.known = b.state.complete && b.state.size > 0; b.known {
		size = b.state.size
	}
	b.line = progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(b.w),
		progressbar.OptionSetDescription(b.state.what),
		progressbar.OptionShowBytes(true),
		progressbar.OptionShowCount(),
		progressbar.OptionShowTotalBytes(true),
		progressbar.OptionSetSpinnerChangeInterval(0), // it would draw on a goroutine of its own
		progressbar.OptionFullWidth())
	b.line.StartWithoutRender()
}

// end ends a transfer, and takes the bar away.
func (b *bar) end() {
	if b.terminal {
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
		case <-wait.C:
			b.mu.Lock()
			b.draw()
			b.mu.Unlock()
			wait.Reset(barPause)
		}
	}
}

// draw draws the bar over what there was; b.mu is held. That it cannot be drawn is no reason to fail.
func (b *bar) draw() {
	b.shown = true
	done := b.state.done
	if b.known {
		if b.line.GetMax64() != b.state.size {
			b.line.ChangeMax64(b.state.size)
		}
		done = min(done, b.state.size-1) // the whole would be the end of the line, and is not that of the transfer
	}
	_ = b.line.Set64(done)
	b.line.Describe(b.state.description(b.known))
}

// description is what precedes the bytes, of which the line tells the part if it knows the whole.
func (s *barState) description(known bool) string {
	text := s.what
	switch {
	case s.found > 1 && s.complete:
		text += fmt.Sprintf(" %d of %d files", s.copied, s.found)
	case s.found > 1:
		text += fmt.Sprintf(" %d files", s.copied)
	}
	if s.complete && !known && s.done < s.size {
		text += fmt.Sprintf(", %d%%", 100*s.done/s.size)
	}
	return text
}

// clear makes room for something else; b.mu is held.
func (b *bar) clear() {
	if b.shown {
		_ = b.line.Clear()
	}
}

// Write writes a message of whole lines.
func (b *bar) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clear()
	n, err := b.w.Write(p)
	if b.shown && err == nil {
		b.draw()
	}
	return n, err
}

// tell changes what is known of the transfer, if somebody wants to know.
func (b *bar) tell(change func(s *barState)) {
	if !b.terminal {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.state)
}

// grow adds a file to a transfer under way, skip takes bytes out of one that are not transferred, copied tells that one is through,
// and complete that there are no others.
func (b *bar) grow(size int64) { b.tell(func(s *barState) { s.size += size; s.found++ }) }
func (b *bar) skip(size int64) { b.tell(func(s *barState) { s.size -= size }) }
func (b *bar) copied()         { b.tell(func(s *barState) { s.copied++ }) }
func (b *bar) complete() {
	b.tell(func(s *barState) {
		s.complete = true
		if s.done == 0 && !b.shown {
			b.draft()
		}
	})
}

// add counts bytes that were transferred.
func (b *bar) add(n int) { b.tell(func(s *barState) { s.done += int64(n) }) }
