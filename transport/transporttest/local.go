package transporttest

import (
	"bytes"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// localTests are the tests of OpInvalidate.
var localTests = []pairTest{
	{"local invalidate/used afterwards", Options{}, localUsed},
	{"local invalidate/in its turn", Options{}, localInTurn},
	{"local invalidate/unsignaled", Options{}, localUnsignaled},
	{"local invalidate/peer not started", Options{}, localPeerNotStarted},
	{"local invalidate/fenced", Options{}, localFenced},
	{"local invalidate/ended window", Options{}, localEnded},
	{"local invalidate/abandoned", Options{}, localAbandoned},
	{"local invalidate/full queue", Options{SendDepth: 4}, localFull},
	{"local invalidate/during writes", Options{SendDepth: 64}, localDuringWrites},
	{"local invalidate/during reads", Options{SendDepth: 64}, localDuringReads},
	{"local invalidate/flushed", Options{}, localFlushed},
}

// When the request completes, the window is dead and its memory free for use. Another window stays.
func localUsed(p *pair) {
	p.start()
	mem := p.b.hold(pattern(8, 1))
	window, neighbour := p.b.expose(rw, mem), p.b.expose(rw, p.b.alloc(8))
	p.b.do(invalidate(window.STag))
	copy(mem.Bytes, "00000000") // for the race detector, too
	p.a.do(write(neighbour, 0, p.a.hold(pattern(8, 2))))
	p.alive()
	p.a.post(with(transport.Signaled, write(window, 0, p.a.hold(pattern(8, 3)))))
	p.endedBy(transport.ErrSTag)
	wantBytes(p.t, "memory", mem.Bytes, []byte("00000000"))
}

// It completes in order, which the ledger checks, and sends no message.
func localInTurn(p *pair) {
	p.start()
	mem := p.b.alloc(8)
	window, neighbour := p.b.expose(rw, mem), p.a.expose(rw, p.a.hold(pattern(8, 1)))
	p.a.receives(2, 8)
	back := p.b.alloc(8)
	entries := p.b.post(
		with(transport.Signaled, send(p.b.hold([]byte("before")))),
		with(transport.Signaled, read(neighbour, 0, back)),
		with(transport.Signaled, invalidate(window.STag)),
		with(transport.Signaled, send(p.b.hold([]byte("after")))),
	)
	p.b.succeed(entries...)
	wantBytes(p.t, "what was read", back.Bytes, pattern(8, 1))
	for _, want := range []string{"before", "after"} {
		if m := p.a.next(); string(m.data) != want || m.HasInvalidate {
			p.t.Errorf("received %q, %+v, want %q", m.data, m.Message, want)
		}
	}
	p.a.post(with(transport.Signaled, read(window, 0, p.a.alloc(8))))
	p.endedBy(transport.ErrSTag)
}

// It has been carried out when a later request completes.
func localUnsignaled(p *pair) {
	p.start()
	mem := p.b.alloc(8)
	window := p.b.expose(rw, mem)
	p.a.receives(1, 8)
	entries := p.b.post(invalidate(window.STag), with(transport.Signaled, send(p.b.alloc(8))))
	p.b.succeed(entries[1])
	copy(mem.Bytes, "00000000")
	p.a.next()
	p.a.post(with(transport.Signaled, write(window, 0, p.a.hold(pattern(8, 1)))))
	p.endedBy(transport.ErrSTag)
	wantBytes(p.t, "memory", mem.Bytes, []byte("00000000"))
}

// At the head of the queue it completes even if the peer has not been started.
func localPeerNotStarted(p *pair) {
	if p.f.PeerMustStart {
		p.t.Skip("a connection needs both ends to be started")
	}
	p.b.start()
	mem := p.b.alloc(8)
	window := p.b.expose(rw, mem)
	p.b.do(invalidate(window.STag))
	copy(mem.Bytes, "00000000")
	p.a.start()
	p.alive()
	p.a.post(with(transport.Signaled, write(window, 0, p.a.hold(pattern(8, 1)))))
	p.endedBy(transport.ErrSTag)
	wantBytes(p.t, "memory", mem.Bytes, []byte("00000000"))
}

// With Fence it waits for the Reads before it. These complete only after the peer's Start, unless
// the peer serves them before.
func localFenced(p *pair) {
	p.b.start()
	size := p.size(5000)
	source := p.a.expose(transport.RemoteRead, p.a.hold(pattern(size, 1)))
	mem := p.b.alloc(size)
	window := p.b.expose(transport.RemoteWrite, mem)
	entries := p.b.post(read(source, 0, mem),
		with(transport.Fence|transport.Signaled, invalidate(window.STag)))
	if !p.f.ServesUnstarted {
		select {
		case <-entries[1].done:
			p.t.Error("the request has completed before the Read" + served)
		default:
		}
	}
	p.a.start()
	p.b.succeed(entries[1])
	wantBytes(p.t, "what was read", mem.Bytes, pattern(size, 1))
	p.alive()
}

// A window that has ended, for any reason, is ignored, and so is an unknown tag.
func localEnded(p *pair) {
	p.start()
	live := p.b.expose(rw, p.b.alloc(8))
	byPeer := p.b.expose(all, p.b.alloc(8))
	revoked := p.b.expose(all, p.b.alloc(8))
	twice := p.b.expose(all, p.b.alloc(8))
	if p.b.Info().RemoteInvalidate {
		p.b.receives(1, 8)
		p.a.post(sendInvalidate(p.a, byPeer.STag))
		wantInvalidated(p, byPeer.STag)
	}
	p.b.Revoke(revoked)
	for _, tag := range []transport.STag{
		byPeer.STag, revoked.STag, twice.STag, twice.STag, 0, live.STag ^ nobodys,
	} {
		p.b.do(invalidate(tag))
	}
	if err := p.b.Revoke(twice); err != nil {
		p.t.Errorf("Revoke of an invalidated window: %v", err)
	}
	p.a.do(write(live, 0, p.a.hold(pattern(8, 1))))
	p.alive()
}

func localAbandoned(p *pair) {
	ab := abandoner(p)
	p.start()
	window := p.b.expose(all, p.b.alloc(8))
	abandon(p, ab, []transport.Region{window})
	p.b.do(invalidate(window.STag))
	p.alive()
	p.a.post(with(transport.Signaled, write(window, 0, p.a.alloc(8))))
	p.endedBy(transport.ErrSTag)
}

// It takes room in the queue like other requests, and makes room when it has completed.
func localFull(p *pair) {
	p.start()
	var wrs []*transport.WorkRequest
	for range p.b.Info().SendDepth + 1 {
		wrs = append(wrs, with(transport.Signaled, invalidate(p.b.expose(rw, p.b.alloc(8)).STag)))
		if len(wrs) > 8 {
			return // deeper than was asked for
		}
	}
	_, err := p.b.ledger.post(p.b, wrs...)
	wantError(p.t, "Post", err, transport.ErrQueueFull)
	p.b.succeed(p.b.postEach(wrs...)...)
	p.alive()
}

// a writes to a window without pause. b ends it by a request, and uses its memory for something
// else when that has completed.
func localDuringWrites(p *pair) {
	const value = 0xee
	for round := range rounds {
		p.start()
		size := p.size(100000)
		mem := p.b.alloc(size)
		window := p.b.expose(transport.RemoteWrite, mem)
		data := p.a.hold(pattern(size, uint64(round)))
		p.b.receives(1, 8)
		p.a.post(send(p.a.alloc(1)))
		for range 20 {
			// The connection may end in between.
			p.a.ledger.post(p.a, with(transport.Signaled, write(window, 0, data)))
		}
		p.b.next()
		for range round * 500 / rounds {
			runtime.Gosched()
		}
		ended, err := p.b.ledger.post(p.b, with(transport.Signaled, invalidate(window.STag)))
		if err != nil || p.b.completion(ended[0]) != nil {
			p.b.ended() // before it was its turn
		}
		for i := range mem.Bytes {
			mem.Bytes[i] = value
		}
		p.a.ledger.post(p.a, with(transport.Signaled, write(window, 0, data)))
		p.endedBy(transport.ErrSTag)
		if !bytes.Equal(mem.Bytes, bytes.Repeat([]byte{value}, size)) {
			p.t.Fatalf("round %d: memory was touched after the window had ended", round)
		}
		p = p.again()
	}
}

// a reads a window without pause. b ends it by a request, and uses its memory for something else
// when that has completed. Reads that succeed must return what was there before.
func localDuringReads(p *pair) {
	for round := range rounds {
		p.start()
		size := p.size(100000)
		want := pattern(size, uint64(round))
		mem := p.b.hold(want)
		window := p.b.expose(transport.RemoteRead, mem)
		p.b.receives(1, 8)
		p.a.post(send(p.a.alloc(1)))
		var got []transport.Slice
		var entries []*entry
		for range 20 {
			s := p.a.alloc(size)
			e, err := p.a.ledger.post(p.a, with(transport.Signaled, read(window, 0, s)))
			if err != nil {
				break // the connection has ended
			}
			got, entries = append(got, s), append(entries, e...)
		}
		p.b.next()
		for range round * 500 / rounds {
			runtime.Gosched()
		}
		ended, err := p.b.ledger.post(p.b, with(transport.Signaled, invalidate(window.STag)))
		if err != nil || p.b.completion(ended[0]) != nil {
			p.b.ended() // before it was its turn
		}
		for i := range mem.Bytes {
			mem.Bytes[i] = 0xee
		}
		p.a.ledger.post(p.a, with(transport.Signaled, read(window, 0, p.a.alloc(8))))
		p.endedBy(transport.ErrSTag)
		for i, e := range entries {
			if p.a.completion(e) == nil {
				wantBytes(p.t, "what was read", got[i].Bytes, want)
			}
		}
		p = p.again()
	}
}

// again returns another connection with the same roles as p.
func (p *pair) again() *pair {
	p.t.Helper()
	q := p.connect()
	if p.a.name != q.a.name {
		q.a, q.b = q.b, q.a
	}
	return q
}

// A request that was not carried out fails with ErrFlushed. The memory is free for use when the
// connection has ended.
func localFlushed(p *pair) {
	p.b.start()
	source := p.a.expose(transport.RemoteRead, p.a.alloc(8))
	mem := p.b.alloc(8)
	window := p.b.expose(rw, mem)
	entries := p.b.post(read(source, 0, p.b.alloc(8)), // which a, not started, need not answer
		with(transport.Fence|transport.Signaled, invalidate(window.STag)))
	p.b.Close()
	p.b.ended()
	if err := p.b.completion(entries[1]); err != nil || !p.f.ServesUnstarted {
		wantError(p.t, entries[1].String()+served, err, transport.ErrFlushed)
	}
	copy(mem.Bytes, "00000000")
	p.a.start()
	p.a.ended()
	wantBytes(p.t, "memory", mem.Bytes, []byte("00000000"))
}
