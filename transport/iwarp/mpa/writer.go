package mpa

import (
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/internal/pace"
)

// writer is the sending half of a Conn.
type writer struct {
	c     *Conn
	sys   output
	batch *batch // nil when there is nothing to send
	total int    // bytes sent, ever
	plain bool   // a write blocks
	torn  bool   // a Write has failed, and may have sent a part
	taps  bool   // there is a Conn.tap

	// The stall watch, which looks at each tick. On a plain connection each Write has a deadline
	// instead.
	pace     pace.Pace
	deadline time.Time // the next tick
	waiting  bool      // there has been something to send since the last tick
}

func (w *writer) append(header []byte, p *ddp.Payload, n int, owner transport.STag) bool {
	if w.batch == nil {
		w.batch = batches.Get().(*batch)
		w.batch.base, w.batch.copies = w.total, w.plain
	}
	if w.c.markersOut {
		return w.batch.addMarked(header, p, n, w.c.crc)
	}
	return w.batch.add(header, p, n, owner, w.c.crc)
}

// sent notes that n bytes were sent.
func (w *writer) sent(n int) {
	w.total += n
	w.c.sent.Add(uint64(n))
	w.batch.advance(n)
	w.settle()
}

// settle releases an empty batch.
func (w *writer) settle() {
	if w.batch.empty() {
		w.batch.release()
		w.batch, w.waiting = nil, false
	}
}

func (w *writer) flush() (empty bool, err error) {
	if w.batch == nil {
		return true, nil
	}
	err = w.sys.try()
	if err != nil && isTimeout(err) && !w.c.isInterrupted() {
		// This deadline was set by a wait that ended in time.
		w.deadline = time.Time{}
		w.c.setWriteDeadline(time.Time{})
		err = w.sys.try()
	}
	return w.batch == nil, err
}

func (w *writer) wait(l sync.Locker) (empty bool, err error) {
	l.Lock()
	nothing := w.batch == nil
	l.Unlock()
	if nothing {
		return true, nil
	}
	for {
		if w.stalled() {
			err = ErrStalled
			break
		}
		if err = w.sys.wait(l); err == nil || !isTimeout(err) || w.c.isInterrupted() {
			break
		}
		if w.plain {
			err = ErrStalled
			break
		}
		w.deadline = time.Time{}
	}
	l.Lock()
	empty = w.batch == nil
	l.Unlock()
	if empty && w.plain {
		w.c.setWriteDeadline(time.Time{}) // TLS may have to write while it reads
	}
	return empty, err
}

// stalled reports whether the peer takes less than it must, and sets a deadline for the next wait.
// If writes block, each gets all of the stall time at once: over TLS a Write that the deadline ends
// is the last.
func (w *writer) stalled() bool {
	now := time.Now()
	if w.plain {
		w.c.setWriteDeadline(now.Add((pace.Ticks + 1) * w.pace.Tick))
		return false
	}
	if now.Before(w.deadline) {
		return false
	}
	// The peer has taken what was sent and the socket no longer holds.
	taken := w.total - w.sys.unsent()
	if !w.waiting {
		w.waiting = true
		w.pace.Begin(taken)
	} else if w.pace.Ticked(taken) {
		return true
	}
	w.deadline = now.Add(w.pace.Tick)
	w.c.setWriteDeadline(w.deadline)
	return false
}

// unbegun reports whether a whole FPDU is left to send.
func (w *writer) unbegun() bool { return w.batch != nil && w.batch.unbegun() }

// finish sends what is left, until the deadline that Close has set.
func (w *writer) finish() error {
	if w.batch == nil {
		return nil
	}
	for _, p := range w.batch.pieces[w.batch.first:] {
		n, err := w.c.conn.Write(p)
		w.c.sent.Add(uint64(n))
		if err != nil {
			return err
		}
	}
	w.batch.release()
	w.batch = nil
	return nil
}
