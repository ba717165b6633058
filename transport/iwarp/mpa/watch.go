package mpa

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/pace"
)

// stallWatch knows what is incomplete: a message, as the sink says, or else an FPDU. While there is
// one, the reader is armed, and its deadline is the next tick. So the watch costs little while
// FPDUs come: one deadline for each tick that ends in the middle of something.
type stallWatch struct {
	pace    pace.Pace
	message uint64 // as the sink names it; 0: none
	fpdus   int    // reader.fpdus when that was found

	held time.Time // when the held segment came
	used int       // ticks already spent of the time for what is incomplete behind it
}

// begin starts the watch for something that has become incomplete.
func (w *stallWatch) begin(r *reader, message uint64, moved int) {
	w.message, w.fpdus = message, r.fpdus
	w.pace.Begin(moved + r.pending())
}

// arm starts the watch if something is incomplete.
func (r *reader) arm() {
	if r.armed {
		return
	}
	message, moved := r.sink.Unfinished()
	if message == 0 && r.pending() == 0 {
		r.watch.used = 0
		return
	}
	r.armed = true
	r.watch.begin(r, message, moved)
	r.watch.pace.Used, r.watch.used = r.watch.used, 0
	r.nextTick()
}

func (r *reader) nextTick() { r.c.setReadDeadline(time.Now().Add(r.watch.pace.Tick)) }

// disarm ends the watch.
func (r *reader) disarm() {
	r.armed = false
	r.c.setReadDeadline(time.Time{})
}

// expired is called when a tick has passed. It fails if something has been incomplete for too long
// and too little of it has come.
func (r *reader) expired() error {
	w := &r.watch
	message, moved := r.sink.Unfinished()
	switch {
	case message == 0 && r.pending() == 0:
		r.disarm()
		return nil
	case message != w.message || message == 0 && r.fpdus != w.fpdus:
		w.begin(r, message, moved)
	case w.pace.Ticked(moved + r.pending()):
		return ErrStalled
	}
	r.nextTick()
	return nil
}

// taken notes that the sink took the held segment. Meanwhile the peer could send on, as far as the
// system buffers unread bytes, so what it has not sent in all that time is due soon. This way peers
// that have stopped do not each take all of ConnOptions.Stall from those that wait behind them.
func (w *stallWatch) taken(peerHeldUp bool) {
	if !peerHeldUp {
		w.used = min(int(time.Since(w.held)/w.pace.Tick), pace.Ticks)
	}
}
