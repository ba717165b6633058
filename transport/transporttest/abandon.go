package transporttest

import (
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var abandonTests = []pairTest{
	{"abandon/during writes", Options{SendDepth: 64}, abandonWrites},
	{"abandon/during reads", Options{SendDepth: 64}, abandonReads},
	{"abandon/checks stay", Options{}, abandonChecks},
	{"abandon/ended window", Options{}, abandonEnded},
	{"abandon/Abandon and Revoke during the end, with a read pinned",
		Options{SendDepth: 64}, abandonDuringEnd},
}

func abandoner(p *pair) transport.Abandoner {
	ab, ok := transport.As[transport.Abandoner](p.b.Endpoint)
	if !ok {
		p.t.Skip("the provider cannot abandon")
	}
	return ab
}

func abandon(p *pair, ab transport.Abandoner, w window) {
	p.t.Helper()
	for _, r := range w {
		if err := ab.Abandon(r); err != nil {
			p.t.Fatalf("Abandon: %v", err)
		}
	}
}

// a writes to two windows without pause. b abandons one of them and at once uses its memory for
// something else.
func abandonWrites(p *pair) {
	ab := abandoner(p)
	p.start()
	size := p.exposable(100000)
	data := p.a.hold(pattern(size, 1))
	for round := range rounds {
		mem, second := p.b.alloc(size), p.b.alloc(size)
		mine := p.b.window(transport.RemoteWrite, p.b.scattered(mem, 4096)...)
		neighbour := p.b.window(transport.RemoteWrite, second)
		p.b.receives(2, 8)
		p.a.post(send(p.a.alloc(1)))
		var wrs []*transport.WorkRequest
		for i := range 20 {
			// The pieces vary, so that some Write is under way when the memory goes.
			off := (i * 5003) % (size / 2)
			wrs = append(wrs, p.a.requests(transport.OpWrite, mine, 0, data)...)
			wrs = append(wrs,
				p.a.requests(transport.OpWrite, neighbour, off, data.Sub(off, size-off))...)
		}
		entries := p.a.postEach(wrs...)
		p.b.next()
		for range round * 1000 / rounds {
			runtime.Gosched()
		}
		abandon(p, ab, mine)
		for i := range mem.Bytes {
			mem.Bytes[i] = 0xee
		}
		p.a.succeed(entries...)
		p.a.transfer(transport.OpWrite, neighbour, 0, data)
		p.a.transfer(transport.OpWrite, mine, 0, data)
		p.a.do(send(p.a.alloc(1)))
		p.b.next()
		for i, x := range mem.Bytes {
			if x != 0xee {
				p.t.Fatalf("round %d: byte %d was touched after Abandon", round, i)
			}
		}
		wantBytes(p.t, fmt.Sprintf("round %d: the neighbour", round), second.Bytes, data.Bytes)
		p.b.Revoke(append(mine, neighbour...)...)
	}
	p.alive()
}

// a reads a window without pause. b abandons it and at once uses its memory for something else. All
// Reads must return what was there before.
func abandonReads(p *pair) {
	ab := abandoner(p)
	p.start()
	const reads = 20
	size := p.exposable(100000)
	for round := range rounds {
		want := pattern(size, uint64(round))
		mem := p.b.hold(want)
		mine := p.b.window(rw, p.b.scattered(mem, 4096, 1)...)
		p.b.receives(1, 8)
		p.a.post(send(p.a.alloc(1)))
		var got []transport.Slice
		var wrs []*transport.WorkRequest
		for range reads {
			s := p.a.alloc(size)
			got = append(got, s)
			wrs = append(wrs, p.a.requests(transport.OpRead, mine, 0, s)...)
		}
		entries := p.a.postEach(wrs...)
		p.b.next()
		for range round * 1000 / rounds {
			runtime.Gosched()
		}
		abandon(p, ab, mine)
		for i := range mem.Bytes {
			mem.Bytes[i] = 0xee
		}
		last := p.a.alloc(size)
		p.a.succeed(entries...)
		p.a.transfer(transport.OpRead, mine, 0, last)
		for i := range got {
			wantBytes(p.t, fmt.Sprintf("round %d: read %d", round, i), got[i].Bytes, want)
		}
		wantBytes(p.t, "read after Abandon", last.Bytes, want)
		// What is written to it is discarded, so Reads do not see it either.
		p.a.transfer(transport.OpWrite, mine, 0, p.a.alloc(size))
		p.a.transfer(transport.OpRead, mine, 0, last)
		wantBytes(p.t, "read after a Write", last.Bytes, want)
		p.b.Revoke(mine...)
	}
	p.alive()
}

// An abandoned window still has its bounds and rights.
func abandonChecks(p *pair) {
	ab := abandoner(p)
	p.start()
	for _, tt := range []struct {
		access transport.Access
		wr     func(r transport.Region, s transport.Slice) *transport.WorkRequest
		want   error
	}{
		{rw, func(r transport.Region, s transport.Slice) *transport.WorkRequest {
			return write(r, 1, s)
		}, transport.ErrBounds},
		{rw, func(r transport.Region, s transport.Slice) *transport.WorkRequest {
			return read(r, 1, s)
		}, transport.ErrBounds},
		{transport.RemoteRead, func(r transport.Region, s transport.Slice) *transport.WorkRequest {
			return write(r, 0, s)
		}, transport.ErrAccess},
		{transport.RemoteWrite, func(r transport.Region, s transport.Slice) *transport.WorkRequest {
			return read(r, 0, s)
		}, transport.ErrAccess},
	} {
		r := p.b.expose(tt.access, p.b.alloc(8))
		if err := ab.Abandon(r); err != nil {
			p.t.Fatalf("Abandon: %v", err)
		}
		p.alive()
		p.a.post(with(transport.Signaled, tt.wr(r, p.a.alloc(8))))
		p.endedBy(tt.want)
		p = p.connect().start()
		ab = abandoner(p)
	}
}

// Abandon does nothing for a window that has ended or was abandoned before.
func abandonEnded(p *pair) {
	ab := abandoner(p)
	p.start()
	r := p.b.expose(all, p.b.alloc(8))
	live := p.b.expose(rw, p.b.alloc(8))
	for range 2 {
		if err := ab.Abandon(r); err != nil {
			p.t.Errorf("Abandon: %v", err)
		}
	}
	p.b.Revoke(r)
	if err := ab.Abandon(r); err != nil {
		p.t.Errorf("Abandon of a revoked window: %v", err)
	}
	p.a.do(write(live, 0, p.a.hold(pattern(8, 1))))
	p.alive()
}

// a reads windows without pause. The connection ends, in several ways, while b abandons and revokes
// them and at once uses their memory for something else. Reads that succeed must return what was
// there before. The race detector finds providers that still touch the memory.
func abandonDuringEnd(p *pair) {
	listens := p.a.name == "listening end"
	abandoner(p)
	for round := range rounds {
		if round > 0 {
			if p = p.connect(); listens {
				p.a, p.b = p.b, p.a
			}
		}
		p.start()
		readOnly := p.b.expose(transport.RemoteRead, p.b.alloc(8))
		ends := []func(){
			// End it by a mistake of the peer. The connection may have ended already.
			func() { p.a.ledger.post(p.a, write(readOnly, 0, p.a.alloc(8))) },
			func() { p.a.Close() },
			func() { p.b.Close() },
		}
		p.endUnderReads(ends[round%len(ends)], uint64(round))
	}
}

// endUnderReads is one round of abandonDuringEnd, on a new connection that end ends.
func (p *pair) endUnderReads(end func(), seed uint64) {
	const windows, reads = 4, 24 // more than the network takes at once
	ab := abandoner(p)
	want := pattern(p.size(128<<10), seed)
	var regions []transport.Region
	var mem, got []transport.Slice
	for range windows {
		m := p.b.hold(want)
		mem = append(mem, m)
		regions = append(regions, p.b.expose(rw, m))
	}
	var wrs []*transport.WorkRequest
	for i := range reads {
		s := p.a.alloc(len(want))
		got = append(got, s)
		wrs = append(wrs, with(transport.Signaled, read(regions[i%windows], 0, s)))
	}
	p.b.receives(1, 8)
	entries := p.a.post(wrs...)
	p.a.post(send(p.a.alloc(1)))
	p.b.next() // all Reads have come
	var group sync.WaitGroup
	group.Go(end)
	for i, r := range regions {
		group.Go(func() { p.leave(ab, r, mem[i], i) })
	}
	waitAll(p.t, "Abandon and Revoke beside the end", &group)
	p.a.ended()
	p.b.ended()
	for i, e := range entries {
		if p.a.completion(e) == nil {
			wantBytes(p.t, fmt.Sprintf("read %d", i), got[i].Bytes, want)
		}
	}
}

// leave makes b take its memory back from the window r and use it for something else. There are
// four ways: with one Abandon or two concurrent ones, and with or without a concurrent Revoke.
func (p *pair) leave(ab transport.Abandoner, r transport.Region, mem transport.Slice, way int) {
	var abandoned sync.WaitGroup
	for range 1 + way%2 {
		abandoned.Go(func() {
			if err := ab.Abandon(r); err != nil && !errors.Is(err, net.ErrClosed) {
				p.t.Errorf("Abandon: %v", err)
			}
		})
	}
	if way < 2 {
		abandoned.Wait()
	} else if err := p.b.Revoke(r); err != nil && !errors.Is(err, net.ErrClosed) {
		p.t.Errorf("Revoke: %v", err)
	}
	for i := range mem.Bytes {
		mem.Bytes[i] = 0xee
	}
	abandoned.Wait()
}
