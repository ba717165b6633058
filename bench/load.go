package bench

import (
	"context"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
)

// load has the callers of a point. Each always has one call under way.
type load struct {
	workers []*worker
	times   *recorder

	warm     time.Time // the end of warming up
	ready    sync.WaitGroup
	begin    chan struct{} // closed when measuring begins
	until    time.Time     // set before begin is closed
	finished sync.WaitGroup
}

// worker makes one call after another.
type worker struct {
	load    *load
	caller  *program.Caller
	samples samples
	err     error
}

// newLoad prepares the callers of a point. All of them send the same payload.
func newLoad(f *fleet, p Point, payload []byte) *load {
	l := &load{times: newRecorder(), begin: make(chan struct{})}
	var into []byte // the buffers of all callers
	if p.Way.Reply() {
		into = make([]byte, p.Size*p.InFlight*len(f.conns))
	}
	for i := range p.InFlight * len(f.conns) {
		conn := f.conns[i%len(f.conns)]
		w := &worker{load: l, samples: samples{to: l.times}}
		if p.Way.Reply() {
			own := into[i*p.Size : (i+1)*p.Size : (i+1)*p.Size]
			w.caller = program.NewGiveCaller(conn, own, p.Way != ReplyChunk)
		} else {
			w.caller = program.NewTakeCaller(conn, payload[:p.Size])
		}
		l.workers = append(l.workers, w)
	}
	return l
}

// start starts the workers, and waits until they have warmed up for d.
func (l *load) start(ctx context.Context, d time.Duration) error {
	l.warm = time.Now().Add(d)
	l.ready.Add(len(l.workers))
	l.finished.Add(len(l.workers))
	for _, w := range l.workers {
		go w.run(ctx)
	}
	l.ready.Wait()
	return l.err()
}

// run measures until a time, and returns how long it took until the last reply. Call it after
// start. Workers that failed in start do nothing.
func (l *load) run(until time.Time) (time.Duration, error) {
	l.until = until
	begin := time.Now()
	close(l.begin)
	l.finished.Wait()
	elapsed := time.Since(begin)
	for _, w := range l.workers {
		w.samples.flush()
	}
	return elapsed, l.err()
}

// err returns the first error of a worker.
func (l *load) err() error {
	for _, w := range l.workers {
		if w.err != nil {
			return w.err
		}
	}
	return nil
}

// run makes calls, at least one for warming up and one that is measured.
func (w *worker) run(ctx context.Context) {
	l := w.load
	defer l.finished.Done()
	for again := true; again && w.err == nil; again = time.Now().Before(l.warm) {
		w.err = w.caller.Call(ctx)
	}
	l.ready.Done()
	<-l.begin
	last := time.Now()
	for again := true; again && w.err == nil; again = last.Before(l.until) {
		w.err = w.caller.Call(ctx)
		now := time.Now()
		w.samples.add(now.Sub(last))
		last = now
	}
}
