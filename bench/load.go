package bench

import (
	"context"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
)

// load is the callers of a point: each has one call under way, all the time.
type load struct {
	workers []*worker
	times   *recorder

	warm     time.Time // until when they warm up
	ready    sync.WaitGroup
	begin    chan struct{} // closed when what follows counts
	until    time.Time     // set before
	finished sync.WaitGroup
}

// worker makes one call after another.
type worker struct {
	load    *load
	caller  *program.Caller
	samples samples
	err     error
}

// newLoad prepares the callers of a point. Payload is what all of them send.
func newLoad(f *fleet, p Point, payload []byte) *load {
	l := &load{times: newRecorder(), begin: make(chan struct{})}
	var into []byte // the buffers of all
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

// start has the workers warm up for a while, and waits until they have done so.
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

// run has the workers call until a time, and returns how long it took until the last had its last
// reply. It follows start; if that has failed, those workers that failed do nothing more.
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

// run calls, once at least in each phase.
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
