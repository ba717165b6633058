package transporttest

import (
	"fmt"
	"runtime"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var abandonTests = []pairTest{
	{"abandon/during writes", Options{SendDepth: 64}, abandonWrites},
	{"abandon/during reads", Options{SendDepth: 64}, abandonReads},
	{"abandon/checks stay", Options{}, abandonChecks},
	{"abandon/ended window", Options{}, abandonEnded},
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

// a writes to two windows without pause; b abandons one and uses its memory for
// something else at once.
func abandonWrites(p *pair) {
	ab := abandoner(p)
	p.start()
	const rounds = 20
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
			// Wherever the pieces end, some Write is under way when the memory goes.
			off := (i * 5003) % (size / 2)
			wrs = append(wrs, p.a.requests(transport.OpWrite, mine, 0, data)...)
			wrs = append(wrs,
				p.a.requests(transport.OpWrite, neighbour, off, data.Sub(off, size-off))...)
		}
		entries := p.a.postEach(wrs...)
		p.b.next()
		for range round * 50 {
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

// a reads a window without pause; b abandons it and uses its memory for something
// else at once. All Reads give what was there before.
func abandonReads(p *pair) {
	ab := abandoner(p)
	p.start()
	const reads = 20
	size := p.exposable(100000)
	for round := range 20 {
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
		for range round * 50 {
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
		// What is written to it is discarded: it is not seen by Reads either.
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

// Abandon of a window that has ended, and twice, does nothing.
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
