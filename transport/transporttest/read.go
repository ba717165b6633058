package transporttest

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var readTests = []pairTest{
	{"read/sizes", Options{}, readSizes},
	{"read/more than ORD", Options{IRD: 3, ORD: 3, SendDepth: 256}, readMany},
	{"read/ORD above the peer's IRD", Options{IRD: 2, ORD: 5, SendDepth: 256}, readMany},
	{"read/ORD 1", Options{IRD: 1, ORD: 1, SendDepth: 256}, readMany},
	{"read/both ways", Options{IRD: 2, ORD: 2, SendDepth: 256}, readBothWays},
	{"read/ORD 0", Options{ORD: -1}, readNone},
	{"read/IRD 0", Options{IRD: -1}, readNone},
}

func readSizes(p *pair) {
	p.start()
	for _, n := range []int{1, 2, 3, 1444, 4095, 65537, 1<<20 + 13} {
		if p.size(n) < n {
			break
		}
		want := pattern(n, uint64(n))
		region := p.b.expose(transport.RemoteRead, p.b.hold(want))
		got := p.a.alloc(n + 2)
		p.a.do(read(region, 0, got.Sub(1, n)))
		wantBytes(p.t, fmt.Sprintf("read of %d bytes", n), got.Bytes[1:n+1], want)
		if got.Bytes[0] != 0 || got.Bytes[n+1] != 0 {
			p.t.Errorf("read of %d bytes: memory next to the target was touched", n)
		}
	}
}

// reads posts n Reads by from at once, with Sends among them. It returns a function that checks the
// results.
func (p *pair) reads(from, to *end, n int) (check func()) {
	size := p.exposable(n*5000) / n
	want := pattern(n*size, 3)
	mine := to.window(transport.RemoteRead, to.scattered(to.hold(want), 4096)...)
	got := from.alloc(n * size)
	to.receives(n/10, 8)
	s := from.alloc(8)
	var wrs []*transport.WorkRequest
	for i := range n {
		wrs = append(wrs, from.requests(transport.OpRead, mine, i*size, got.Sub(i*size, size))...)
		if i%10 == 9 {
			wrs = append(wrs, send(s))
		}
	}
	entries := from.postEach(wrs...)
	return func() {
		from.succeed(entries...)
		for range n / 10 {
			to.next()
		}
		wantBytes(p.t, from.name+": what was read", got.Bytes, want)
	}
}

func readMany(p *pair) {
	p.start()
	a, b := p.a.Info(), p.b.Info()
	if a.ORD < 1 || a.ORD > b.IRD {
		p.t.Errorf("ORD is %d with an IRD of %d at the peer", a.ORD, b.IRD)
	}
	p.reads(p.a, p.b, min(100, a.SendDepth/2))()
}

func readBothWays(p *pair) {
	p.start()
	n := min(100, p.a.Info().SendDepth/2, p.b.Info().SendDepth/2)
	first, second := p.reads(p.a, p.b, n), p.reads(p.b, p.a, n)
	first()
	second()
}

func readNone(p *pair) {
	p.start()
	if ord := p.a.Info().ORD; ord != 0 {
		p.t.Fatalf("ORD is %d, want 0", ord)
	}
	region := p.b.expose(transport.RemoteRead, p.b.alloc(10))
	s := p.a.alloc(10)
	_, err := p.a.ledger.post(p.a, read(region, 0, s))
	wantError(p.t, "Post", err, transport.ErrNoReads)
	// Post takes all requests or none. If it took the Send, that would find no receive and end the
	// connection.
	_, err = p.a.ledger.post(p.a, send(s), read(region, 0, s))
	wantError(p.t, "Post", err, transport.ErrNoReads)
	p.alive()
}
