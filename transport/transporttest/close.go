package transporttest

import (
	"errors"
	"net"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var closeTests = []pairTest{
	{"close/idle", Options{}, closeIdle},
	{"close/before start", Options{}, closeBeforeStart},
	{"close/with requests queued", Options{SendDepth: 64}, closeQueued},
	{"close/by the peer with requests queued", Options{SendDepth: 64}, closeByPeerQueued},
	{"close/under load", Options{}, closeUnderLoad},
	{"close/by many at once", Options{}, closeMany},
	{"close/flush after a failure", Options{}, closeFlush},
}

// wantClosed checks the errors of both ends after a has closed, and that nothing can be posted.
func (p *pair) wantClosed() {
	p.t.Helper()
	p.a.ended()
	p.b.start()
	p.b.ended()
	wantError(p.t, p.a.name+": Err", p.a.Err(), net.ErrClosed)
	if errors.Is(p.a.Err(), transport.ErrClosedByPeer) {
		p.t.Errorf("%s: closed itself, but blames the peer: %v", p.a.name, p.a.Err())
	}
	wantError(p.t, p.b.name+": Err", p.b.Err(), transport.ErrClosedByPeer)
	for _, e := range []*end{p.a, p.b} {
		_, err := e.ledger.post(e, with(transport.Signaled, send(e.alloc(8))))
		wantError(p.t, e.name+": Post after the end", err, net.ErrClosed)
		err = e.inbox.post(e, &transport.RecvRequest{Local: []transport.Slice{e.alloc(8)}})
		wantError(p.t, e.name+": PostRecv after the end", err, net.ErrClosed)
		rs, err := e.Expose(nil, []transport.Slice{e.alloc(8)}, rw)
		wantError(p.t, e.name+": Expose after the end", err, net.ErrClosed)
		if len(rs) > 0 {
			p.t.Errorf("%s: Expose after the end returned %v", e.name, rs)
		}
	}
}

func closeIdle(p *pair) {
	p.start()
	p.alive()
	p.b.receives(3, 8)
	for _, e := range []*end{p.a, p.b} {
		if err := e.Err(); err != nil {
			p.t.Errorf("%s: Err before the end: %v", e.name, err)
		}
		select {
		case <-e.Done():
			p.t.Errorf("%s: Done before the end", e.name)
		default:
		}
	}
	if err := p.a.Close(); err != nil {
		p.t.Errorf("Close: %v", err)
	}
	p.wantClosed()
	reason := p.b.Err()
	p.a.Close() // again, and of what has ended: no panic, no hang, and no new reason
	p.b.Close()
	wantError(p.t, "Err after a Close too late", p.b.Err(), transport.ErrClosedByPeer)
	if p.b.Err().Error() != reason.Error() {
		p.t.Errorf("the reason changed from %q to %q", reason, p.b.Err())
	}
}

func closeBeforeStart(p *pair) {
	p.a.receives(1, 8)
	p.b.receives(1, 8)
	p.a.Close()
	p.wantClosed()
}

// flushed waits for completions. They must be successes up to some point, and ErrFlushed from there
// on.
func flushed(e *end, entries []*entry) {
	e.t.Helper()
	failed := false
	for _, en := range entries {
		err := e.completion(en)
		switch {
		case err != nil:
			wantError(e.t, en.String(), err, transport.ErrFlushed)
			failed = true
		case failed:
			e.t.Errorf("%v succeeded after another was flushed", en)
		}
	}
}

// b is not started, so most of a's Writes are still queued when a closes. They must complete before
// Done is closed.
func closeQueued(p *pair) {
	p.a.start()
	entries := p.fillQueue()
	p.a.Close()
	wait(p.t, "Done", p.a.Done())
	for _, e := range entries {
		select {
		case <-e.done:
		default:
			p.t.Errorf("%v had not completed when Done was closed", e)
		}
	}
	flushed(p.a, entries)
	p.wantClosed()
}

// fillQueue posts large Writes to b until a's queue is full, and at least as many as would fill an
// idle queue.
func (p *pair) fillQueue() []*entry {
	p.t.Helper()
	size := p.size(64 << 10)
	region := p.b.expose(transport.RemoteWrite, p.b.alloc(size))
	data := p.a.alloc(size)
	var entries []*entry
	for range p.a.Info().SendDepth {
		e, err := p.a.ledger.post(p.a, with(transport.Signaled, write(region, 0, data)))
		if err != nil {
			p.t.Fatalf("Post: %v", err)
		}
		entries = append(entries, e...)
	}
	return entries
}

func closeByPeerQueued(p *pair) {
	p.a.start()
	entries := p.fillQueue()
	p.b.Close()
	p.a, p.b = p.b, p.a
	flushed(p.b, entries)
	p.wantClosed()
}

// Both ends send, write and read when one closes.
func closeUnderLoad(p *pair) {
	p.start()
	var load sync.WaitGroup
	started := make(chan struct{})
	start := sync.OnceFunc(func() { close(started) })
	for _, e := range [][2]*end{{p.a, p.b}, {p.b, p.a}} {
		from, to := e[0], e[1]
		size := p.size(10000)
		region := to.expose(rw, to.alloc(size))
		data, back := from.alloc(size), from.alloc(size)
		load.Go(func() {
			for i := 0; ; i++ {
				_, err := from.ledger.post(from,
					with(transport.Signaled, write(region, 0, data)),
					with(transport.Signaled, read(region, 0, back)),
					write(region, 0, data))
				switch {
				case errors.Is(err, transport.ErrQueueFull):
					start()
					time.Sleep(time.Millisecond) // in a bubble, time stands still until all wait
				case err != nil:
					if !errors.Is(err, net.ErrClosed) {
						p.t.Errorf("Post: %v", err)
					}
					return
				case i == 50:
					start()
				}
			}
		})
	}
	wait(p.t, "load", started)
	p.a.Close()
	p.b.ended()
	waitAll(p.t, "load", &load)
	p.wantClosed()
}

func closeMany(p *pair) {
	p.start()
	var closing sync.WaitGroup
	for range 8 {
		closing.Go(func() { p.a.Close() })
		closing.Go(func() { p.b.Close() })
	}
	waitAll(p.t, "Close", &closing)
	p.endedBy(net.ErrClosed)
}

// Requests after a failed one are flushed, at both ends.
func closeFlush(p *pair) {
	p.a.start()
	mem := p.b.alloc(8)
	region := p.b.expose(rw, mem)
	dead := p.b.expose(rw, p.b.alloc(8))
	p.b.Revoke(dead)
	data := p.a.hold(pattern(8, 1))
	entries := p.a.post(
		write(dead, 0, data),
		with(transport.Signaled, read(region, 0, data)),
		with(transport.Signaled, read(region, 0, data)),
	)
	p.b.start()
	p.endedBy(transport.ErrSTag)
	for _, e := range entries[1:] {
		if err := p.a.completion(e); err == nil {
			p.t.Errorf("%v succeeded", e)
		} else {
			wantError(p.t, e.String(), err, transport.ErrFlushed)
		}
	}
	wantBytes(p.t, "memory", mem.Bytes, make([]byte, 8))
}
