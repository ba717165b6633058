package transporttest

import (
	"encoding/binary"
	"net"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var callbackTests = []pairTest{
	{"callback/post and reuse in Complete", Options{}, callbackComplete},
	{"callback/post in Received", Options{}, callbackReceived},
	{"callback/post from a full queue", Options{SendDepth: 1}, callbackFull},
	{"callback/close in Complete", Options{}, callbackCloseComplete},
	{"callback/close in Received", Options{}, callbackCloseReceived},
	{"callback/close in a flush", Options{}, callbackCloseFlush},
	{"callback/invalidate in Received", Options{}, callbackInvalidate},
}

// completer is a Completer made of a function.
type completer func(wr *transport.WorkRequest, err error)

func (c completer) Complete(wr *transport.WorkRequest, err error) { c(wr, err) }

// repeat posts one Write n times, each time from within its own completion.
func (p *pair) repeat(n int) {
	region := p.b.expose(transport.RemoteWrite, p.b.alloc(8))
	wr := with(transport.Signaled, write(region, 0, p.a.alloc(8)))
	done := make(chan struct{})
	left := n
	wr.Done = completer(func(again *transport.WorkRequest, err error) {
		switch left--; {
		case again != wr:
			p.t.Error("another request completed")
		case err != nil:
			p.t.Errorf("write: %v", err)
		case left == 0:
		default:
			if err = p.a.Post(wr); err == nil {
				return
			}
			p.t.Errorf("Post in Complete: %v", err)
		}
		close(done)
	})
	if err := p.a.Post(wr); err != nil {
		p.t.Fatalf("Post: %v", err)
	}
	wait(p.t, "completions", done)
}

func callbackComplete(p *pair) {
	p.start()
	p.repeat(500)
	p.alive()
}

// A request has left the queue when it completes, so there is room for the next one.
func callbackFull(p *pair) {
	p.start()
	p.repeat(100)
	p.alive()
}

// A number goes back and forth, one higher each time, in callbacks alone.
func callbackReceived(p *pair) {
	const n = 500
	done := make(chan struct{})
	for _, e := range []*end{p.a, p.b} {
		e.receives(1, 8)
		e.inbox.hook = func(m message) {
			i := binary.BigEndian.Uint64(m.data)
			if i == n {
				close(done)
				return
			}
			if err := e.inbox.post(e, m.Receive); err != nil {
				p.t.Errorf("PostRecv in Received: %v", err)
			}
			s := transport.Slice{Bytes: binary.BigEndian.AppendUint64(nil, i+1)}
			if im, ok := e.Domain().(transport.Importer); ok {
				s, _ = im.Import(s.Bytes, 0)
			} else {
				s = e.hold(s.Bytes)
			}
			if _, err := e.ledger.post(e, with(transport.Signaled, send(s))); err != nil {
				p.t.Errorf("Post in Received: %v", err)
			}
		}
	}
	p.start()
	p.a.post(with(transport.Signaled, send(p.a.alloc(8))))
	wait(p.t, "the last message", done)
}

func callbackCloseComplete(p *pair) {
	p.start()
	region := p.b.expose(transport.RemoteWrite, p.b.alloc(8))
	wr := with(transport.Signaled, write(region, 0, p.a.alloc(8)))
	wr.Done = completer(func(*transport.WorkRequest, error) {
		p.a.Close()
		wantError(p.t, "Err after Close", p.a.Err(), net.ErrClosed)
	})
	if err := p.a.Post(wr); err != nil {
		p.t.Fatalf("Post: %v", err)
	}
	p.wantClosed()
}

func callbackCloseReceived(p *pair) {
	closer := p.b
	closer.inbox.hook = func(message) { closer.Close() }
	p.b.receives(3, 8)
	p.start()
	s := p.a.alloc(8)
	for range 3 {
		// The connection may end in between.
		p.a.ledger.post(p.a, with(transport.Signaled, send(s)))
	}
	p.a, p.b = p.b, p.a
	p.wantClosed()
}

// A Completer may call anything, even when its request was flushed.
func callbackCloseFlush(p *pair) {
	p.start()
	dead := p.b.expose(rw, p.b.alloc(8))
	p.b.Revoke(dead)
	var calls sync.WaitGroup
	s := p.a.alloc(8)
	for range 3 {
		calls.Add(1)
		wr := with(transport.Signaled, write(dead, 0, s))
		wr.Done = completer(func(wr *transport.WorkRequest, _ error) {
			defer calls.Done()
			p.a.Close()
			p.b.Close()
			p.a.Err()
			wr.Done = &p.a.ledger // would be found out
			p.a.Post(wr)
		})
		if err := p.a.Post(wr); err != nil {
			calls.Done()
		}
	}
	p.a.ended()
	p.b.ended()
	waitAll(p.t, "completions", &calls)
}

// The usual end of a call: when its reply comes, its window ends.
func callbackInvalidate(p *pair) {
	mem := p.b.alloc(1000)
	window := p.b.expose(transport.RemoteWrite, mem)
	posted := make(chan *entry, 1)
	p.b.inbox.hook = func(message) {
		entries, err := p.b.ledger.post(p.b, with(transport.Signaled, invalidate(window.STag)))
		if err != nil {
			p.t.Errorf("Post in Received: %v", err)
			close(posted)
			return
		}
		posted <- entries[0]
	}
	p.b.receives(1, 8)
	p.start()
	data := p.a.hold(pattern(1000, 1))
	p.a.post(write(window, 0, data), send(p.a.alloc(8)))
	if e := wait(p.t, "message", posted); e != nil {
		p.b.succeed(e)
	}
	wantBytes(p.t, "memory", mem.Bytes, data.Bytes)
	p.a.post(with(transport.Signaled, write(window, 0, data)))
	p.endedBy(transport.ErrSTag)
}
