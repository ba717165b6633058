package transporttest

import (
	"math"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

const (
	windowSize = 512 // small enough for one segment of any network
	rw         = transport.RemoteRead | transport.RemoteWrite

	// nobodys returns a tag that does not exist.
	nobodys transport.STag = 0x55555500
)

// refusals are tagged operations that must be refused. target returns the target of such an
// operation and its length, given a window of b that permits access.
var refusals = []struct {
	name   string
	access transport.Access
	target func(p *pair, r transport.Region) (transport.Remote, int)
	want   error
}{
	{"STag nobody has", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return transport.Remote{STag: r.STag ^ nobodys, Offset: r.Base}, 8
	}, transport.ErrSTag},
	{"STag with another key", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return transport.Remote{STag: r.STag ^ 1, Offset: r.Base}, 8
	}, transport.ErrSTag},
	{"STag 0", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return transport.Remote{Offset: r.Base}, 8
	}, transport.ErrSTag},
	{"STag revoked", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		p.b.Revoke(r)
		return at(r, 0), 8
	}, transport.ErrSTag},
	{"STag revoked and others made", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		p.b.Revoke(r)
		for range 5 {
			p.b.expose(rw, p.b.alloc(windowSize))
		}
		return at(r, 0), 8
	}, transport.ErrSTag},
	{"STag abandoned and revoked", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		if ab, ok := transport.As[transport.Abandoner](p.b.Endpoint); ok {
			if err := ab.Abandon(r); err != nil {
				p.t.Errorf("Abandon: %v", err)
			}
		}
		p.b.Revoke(r)
		return at(r, 0), 8
	}, transport.ErrSTag},
	{"STag of another connection", rw, func(p *pair, _ transport.Region) (transport.Remote, int) {
		p.wantEndpointTags()
		other := p.connect()
		return at(other.b.expose(rw, other.b.alloc(windowSize)), 0), 8
	}, transport.ErrSTag},
	{"STag of the same end", rw, func(p *pair, _ transport.Region) (transport.Remote, int) {
		p.wantEndpointTags()
		return at(p.a.expose(rw, p.a.alloc(windowSize)), 0), 8
	}, transport.ErrSTag},
	{"before the window", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return at(r, -1), 1
	}, transport.ErrBounds},
	{"across the beginning", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return at(r, -1), 8
	}, transport.ErrBounds},
	{"across the end", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return at(r, windowSize-7), 8
	}, transport.ErrBounds},
	{"behind the window", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return at(r, windowSize), 1
	}, transport.ErrBounds},
	{"longer than the window", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return at(r, 0), windowSize + 1
	}, transport.ErrBounds},
	{"far before the window", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return at(r, -1<<40), 8
	}, transport.ErrBounds},
	{"largest offset", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return transport.Remote{STag: r.STag, Offset: math.MaxUint64}, 1
	}, transport.ErrBounds},
	{"offset that wraps", rw, func(p *pair, r transport.Region) (transport.Remote, int) {
		return transport.Remote{STag: r.STag, Offset: math.MaxUint64 - 3}, 8
	}, transport.ErrBounds},
}

// wantEndpointTags skips a test unless steering tags are valid on one connection alone.
func (p *pair) wantEndpointTags() {
	if !p.b.Info().EndpointTags {
		p.t.Skip("tags belong to the domain")
	}
}

// refusalTests are the refusals, as Writes and as Reads.
func refusalTests() []pairTest {
	var tests []pairTest
	for _, tt := range refusals {
		run := func(op transport.Op, access transport.Access) func(p *pair) {
			return func(p *pair) {
				p.start()
				p.refused(op, access, tt.target, tt.want)
			}
		}
		tests = append(tests,
			pairTest{"refused/write/" + tt.name, Options{}, run(transport.OpWrite, tt.access)},
			pairTest{"refused/read/" + tt.name, Options{}, run(transport.OpRead, tt.access)})
	}
	whole := func(_ *pair, r transport.Region) (transport.Remote, int) { return at(r, 0), windowSize }
	return append(tests,
		pairTest{"refused/write/read only", Options{}, func(p *pair) {
			p.start()
			p.refused(transport.OpWrite, transport.RemoteRead, whole, transport.ErrAccess)
		}},
		pairTest{"refused/read/write only", Options{}, func(p *pair) {
			p.start()
			p.refused(transport.OpRead, transport.RemoteWrite, whole, transport.ErrAccess)
		}})
}

// refused makes a carry out one bad operation. It checks that this ends the connection for the
// reason want and does no other harm, and that later requests are not carried out.
func (p *pair) refused(op transport.Op, access transport.Access,
	target func(*pair, transport.Region) (transport.Remote, int), want error) {
	other := p.connect().start()
	neighbour := other.b.expose(rw, other.b.hold(pattern(windowSize, 1)))

	// The window lies between guards, in a piece of memory exposed no further.
	mem := p.b.hold(pattern(3*windowSize, 2))
	region := p.b.expose(access, mem.Sub(windowSize, windowSize))
	second := p.b.alloc(windowSize)
	good := p.b.expose(rw, second)
	p.b.receives(1, 8)

	remote, n := target(p, region)
	local := p.a.hold(pattern(n, 3))
	bad := &transport.WorkRequest{Op: op, Flags: transport.Signaled, Remote: remote}
	limit := p.a.Info().MaxSendSGE
	if op == transport.OpRead {
		limit = p.a.Info().MaxReadSGE
	}
	bad.Local = splitUpTo(limit, local, 3, n)
	wrs := []*transport.WorkRequest{bad, with(transport.Fence, send(p.a.alloc(8)))}
	if op == transport.OpWrite {
		wrs = append(wrs, write(good, 0, p.a.hold(pattern(windowSize, 4))))
	}
	entries := p.a.post(wrs...)
	p.endedBy(want)
	p.terminated(p.a, p.b)

	err := p.a.completion(entries[0])
	if op == transport.OpRead && err == nil {
		p.t.Error("the Read succeeded")
	}
	wantBytes(p.t, "memory of the active end", local.Bytes, pattern(n, 3))
	wantBytes(p.t, "memory of the other end", mem.Bytes, pattern(3*windowSize, 2))
	wantBytes(p.t, "target of a later Write", second.Bytes, make([]byte, windowSize))

	back := other.a.alloc(windowSize)
	other.a.do(read(neighbour, 0, back))
	wantBytes(p.t, "memory behind another connection", back.Bytes, pattern(windowSize, 1))
	other.alive()
}
