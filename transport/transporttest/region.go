package transporttest

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var regionTests = []pairTest{
	{"regions/of scattered memory", Options{}, regionsScattered},
	{"regions/some of them ended", Options{}, regionsSome},
	{"regions/no more", Options{}, regionsNoMore},
	{"regions/without rights", Options{}, regionsWithoutRights},
}

// The Regions of a window cover its memory, in order, and nothing else.
func regionsScattered(p *pair) {
	p.start()
	const part = 300
	// Between the parts lies memory that is not exposed.
	mem := p.b.alloc(10 * part)
	var list []transport.Slice
	for off := 0; off < mem.Len(); off += 2 * part {
		list = append(list, mem.Sub(off, part))
	}
	w := p.b.window(rw, list...)
	want := pattern(5*part, 1)
	p.a.transfer(transport.OpWrite, w, 0, p.a.hold(want))
	back := p.a.alloc(5 * part)
	p.a.transfer(transport.OpRead, w, 0, back)
	wantBytes(p.t, "what was read", back.Bytes, want)
	for i := range list {
		wantBytes(p.t, "a part", list[i].Bytes, want[i*part:][:part])
		wantBytes(p.t, "what lies behind it", mem.Bytes[(2*i+1)*part:][:part], make([]byte, part))
	}
	p.alive()
	last := w[len(w)-1]
	p.a.post(with(transport.Signaled, write(last, int(last.Len), p.a.alloc(1))))
	p.endedBy(transport.ErrBounds)
}

// Each Region can be ended separately, by a request or by Revoke.
func regionsSome(p *pair) {
	p.start()
	mem := p.b.alloc(3 * 256)
	w := p.b.window(rw, split(mem, 256)...)
	kept := w[len(w)-1]
	for i, r := range w[:len(w)-1] {
		if i%2 == 0 {
			p.b.do(invalidate(r.STag))
		} else if err := p.b.Revoke(r); err != nil {
			p.t.Errorf("Revoke: %v", err)
		}
	}
	p.a.do(write(kept, int(kept.Len)-8, p.a.hold(pattern(8, 1))))
	p.alive()
	wantBytes(p.t, "memory", mem.Bytes[3*256-8:], pattern(8, 1))
	p.b.do(invalidate(kept.STag))
	p.a.post(with(transport.Signaled, write(kept, 0, p.a.alloc(8))))
	p.endedBy(transport.ErrSTag)
}

// Beyond MaxRegions Expose fails and leaves nothing behind. Regions that end make room.
func regionsNoMore(p *pair) {
	limit := p.b.Info().MaxRegions
	if limit == 0 || limit > 1<<17 {
		p.t.Skip("the provider has no limit within reach")
	}
	p.start()
	one := []transport.Slice{p.b.alloc(8)}
	var w window
	for range limit {
		more, err := p.b.Expose(w, one, rw)
		if err != nil {
			p.t.Fatalf("Expose, with %d regions of %d: %v", len(w), limit, err)
		}
		w = more
	}
	defer func() { p.b.Revoke(w...) }()
	wantNone := func(list ...transport.Slice) {
		p.t.Helper()
		rs, err := p.b.Expose(w[:2:2], list, rw)
		wantError(p.t, "Expose", err, transport.ErrNoMemory)
		if len(rs) != 2 {
			p.t.Errorf("a failed Expose returned %d regions, want what it was given", len(rs))
		}
	}
	wantNone(one...)
	p.b.do(invalidate(w[0].STag))
	w = w[1:]
	if two := split(p.b.alloc(16), 8); p.splits() {
		wantNone(two...)
	}
	w = append(w, p.b.expose(rw, one[0]))
	wantNone(one...)
	p.b.Revoke(w[0])
	w = append(w[1:], p.b.expose(rw, one[0]))
	p.a.do(write(w[len(w)-1], 0, p.a.alloc(8)))
	p.alive()
}

// There is no window that the peer can neither read nor write.
func regionsWithoutRights(p *pair) {
	p.start()
	other := []transport.Region{{STag: 1, Base: 2, Len: 3}}
	mem := []transport.Slice{p.b.alloc(8)}
	for _, access := range []transport.Access{
		0, transport.RemoteInvalidate, transport.LocalWrite | transport.RemoteInvalidate,
	} {
		rs, err := p.b.Expose(other, mem, access)
		wantError(p.t, fmt.Sprintf("Expose for access %#x", access), err, transport.ErrWorkRequest)
		if len(rs) != 1 || rs[0] != other[0] {
			p.t.Errorf("a failed Expose returned %+v, want what it was given", rs)
		}
	}
	p.alive()
}

// splits reports whether b makes several Regions of two Slices.
func (p *pair) splits() bool {
	p.t.Helper()
	q := p.connect().start()
	return len(q.b.window(rw, split(q.b.alloc(16), 8)...)) > 1
}
