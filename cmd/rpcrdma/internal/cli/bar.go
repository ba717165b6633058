package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A transfer that takes longer than barDelay gets a bar, redrawn every barPause.
const (
	barDelay = time.Second / 2
	barPause = time.Second / 5
)

// Bar shows the progress of a transfer on a terminal, if the transfer takes some time. It also
// writes messages, each on its own line. Its methods may be called concurrently.
type Bar struct {
	W        io.Writer // for messages, and the bar
	Terminal bool      // else there is no bar

	Mu    sync.Mutex // guards what follows
	State BarState
	line  *progressbar.ProgressBar
	known bool // line knows the size
	shown bool
	past  []moment // the latest times that it was drawn, for the rate
	stop  func()   // ends what draws
}

// moment is how far a transfer was at some time.
type moment struct {
	at   time.Time
	done int64
}

// rateMoments is over how many drawings the rate is taken: those of 5 s.
const rateMoments = int(5 * time.Second / barPause)

// BarState is what is known of a transfer.
type BarState struct {
	what     string
	Done     int64 // bytes
	Size     int64 // bytes of all files that were found
	Copied   int   // files
	Found    int   // files; 0: it is one, or none
	Complete bool  // no further files will be found
}

// NewBar returns a bar that is shown on w, if that is a terminal.
func NewBar(w io.Writer) *Bar {
	f, ok := w.(*os.File)
	return &Bar{W: w, Terminal: ok && term.IsTerminal(int(f.Fd()))}
}

// Begin begins a transfer of size bytes; 0 means not known yet. End must follow.
func (b *Bar) Begin(what string, size int64) {
	if !b.Terminal {
		return
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.State = BarState{what: what, Size: size, Complete: size > 0}
	b.shown = false
	b.past = []moment{{time.Now(), 0}}
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

// draft makes the line; b.mu is held.
func (b *Bar) draft() {
	size := int64(-1)
	if b.known = b.State.Complete && b.State.Size > 0; b.known {
		size = b.State.Size
	}
	b.line = progressbar.NewOptions64(size,
		progressbar.OptionSetWriter(b.W),
		progressbar.OptionSetDescription(b.State.what),
		progressbar.OptionSetElapsedTime(false),
		progressbar.OptionSetPredictTime(false),
		progressbar.OptionSetSpinnerChangeInterval(0), // it would draw on a goroutine of its own
		progressbar.OptionFullWidth())
	b.line.StartWithoutRender()
}

// End ends a transfer, and takes the bar away.
func (b *Bar) End() {
	if b.Terminal {
		b.stop()
	}
}

// run draws the bar until the transfer ends.
func (b *Bar) run(stop <-chan struct{}) {
	wait := time.NewTimer(barDelay)
	defer wait.Stop()
	for {
		select {
		case <-stop:
			b.Mu.Lock()
			defer b.Mu.Unlock()
			b.clear()
			b.shown = false // and not over messages that follow
			return
		case <-wait.C:
			b.Mu.Lock()
			b.draw()
			b.Mu.Unlock()
			wait.Reset(barPause)
		}
	}
}

// draw draws the bar over the last one; b.mu is held. It ignores errors of drawing.
func (b *Bar) draw() {
	b.shown = true
	done := b.State.Done
	if b.known {
		if b.line.GetMax64() != b.State.Size {
			b.line.ChangeMax64(b.State.Size)
		}
		// at 100 % the bar would end the line, but the transfer may go on
		done = min(done, b.State.Size-1)
	}
	_ = b.line.Set64(done)
	b.line.Describe(b.State.description(b.rate()))
}

// rate returns the recent bytes per second; b.mu is held.
func (b *Bar) rate() float64 {
	now, from := moment{time.Now(), b.State.Done}, b.past[0]
	b.past = append(b.past[max(0, len(b.past)-rateMoments+1):], now)
	if took := now.at.Sub(from.at); took > 0 {
		return float64(now.done-from.done) / took.Seconds()
	}
	return 0
}

// description says how far it is: files, bytes, the recent rate, and the time that is left.
func (s *BarState) description(rate float64) string {
	text := s.what
	switch {
	case s.Found > 1 && s.Complete:
		text += fmt.Sprintf(" %d of %d files,", s.Copied, max(s.Found, s.Copied))
	case s.Found > 1:
		text += fmt.Sprintf(" %d files,", s.Copied)
	}
	if s.Complete && s.Size > 0 {
		text += fmt.Sprintf(" %s of %s, %s/s", Bytes(s.Done), Bytes(max(s.Size, s.Done)), Bytes(int64(rate)))
	} else {
		text += fmt.Sprintf(" %s so far, %s/s", Bytes(s.Done), Bytes(int64(rate)))
	}
	if left := s.Size - s.Done; s.Complete && left > 0 && rate >= 1 {
		text += fmt.Sprintf(", %v left", time.Duration(math.Ceil(float64(left)/rate))*time.Second)
	}
	return text
}

// clear removes the bar from the line; b.mu is held.
func (b *Bar) clear() {
	if b.shown {
		_ = b.line.Clear()
	}
}

// Write writes a message of whole lines.
func (b *Bar) Write(p []byte) (int, error) {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.clear()
	n, err := b.W.Write(p)
	if b.shown && err == nil {
		b.draw()
	}
	return n, err
}

// tell changes what is known of the transfer, if somebody wants to know.
func (b *Bar) tell(change func(s *BarState)) {
	if !b.Terminal {
		return
	}
	b.Mu.Lock()
	defer b.Mu.Unlock()
	change(&b.State)
}

// Grow adds a file of some bytes to a transfer under way.
func (b *Bar) Grow(size int64) { b.tell(func(s *BarState) { s.Size += size; s.Found++ }) }

// Skip removes bytes from the transfer, such as those of a hole.
func (b *Bar) Skip(size int64) { b.tell(func(s *BarState) { s.Size -= size }) }

// Copied counts a file that has been copied.
func (b *Bar) Copied() { b.tell(func(s *BarState) { s.Copied++ }) }

// Complete says that no more files will be found.
func (b *Bar) Complete() {
	b.tell(func(s *BarState) {
		s.Complete = true
		if !b.known {
			b.clear()
			b.draft()
		}
	})
}

// Add counts bytes that were transferred.
func (b *Bar) Add(n int) { b.tell(func(s *BarState) { s.Done += int64(n) }) }
