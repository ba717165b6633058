package mpa

import (
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/pace"
)

// stallWatch is what a reader knows of what is incomplete: a message, of which the sink knows, or
// else an FPDU. While anything is, the reader is armed, and its deadline is the next tick. So the
// watch costs little where FPDUs come: a deadline for each tick that ends amid one.
type stallWatch struct {
	pace    pace.Pace
	message uint64 // as the sink names it, 0 if there is none
	fpdus   int    // reader.fpdus, when that was found

	held time.Time // when the segment came that is held
	used int       // ticks that have passed of the time for what is incomplete behind it
}

// begin notes what is incomplete, and was not before.
func (w *stallWatch) begin(r *reader, message uint64, moved int) {
	w.message, w.fpdus = message, r.fpdus
	w.pace.Begin(moved + r.pending())
}

// arm has what is incomplete watched, if anything is.
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

// expired is called when a tick has passed. It fails if what is incomplete has been so for too
// long, and too little of it has come.
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

// taken notes that the segment which was held has been taken. While it was, the peer could send on,
// as far as the system takes what nobody reads: what it has not sent in all that time is due soon.
// So those that have stopped do not each take the whole of ConnOptions.Stall from those that wait
// behind them.
func (w *stallWatch) taken(peerHeldUp bool) {
	if !peerHeldUp {
		w.used = min(int(time.Since(w.held)/w.pace.Tick), pace.Ticks)
	}
}
