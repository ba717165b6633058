package transporttest

import (
	"fmt"
	"math/rand/v2"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

var listTests = []pairTest{
	{"lists/odd sizes", Options{}, listOddSizes},
	{"lists/random", Options{}, listRandom},
	{"lists/parts of a window", Options{}, listParts},
}

// transfers moves a pattern by Send, Write and Read, between lists that are cut differently.
func (p *pair) transfers(size int, cutA, cutB []int, seed uint64) {
	what := fmt.Sprintf("%d bytes from pieces of %v to pieces of %v", size, cutA, cutB)
	want := pattern(size, seed)
	source := p.a.hold(want)

	if p.message(size) == size {
		to := splitUpTo(p.b.Info().MaxRecvSGE, p.b.alloc(size), cutB...)
		if err := p.b.inbox.post(p.b, &transport.RecvRequest{Local: to}); err != nil {
			p.t.Fatal(err)
		}
		p.a.do(send(splitUpTo(p.a.Info().MaxSendSGE, source, cutA...)...))
		wantBytes(p.t, "send of "+what, p.b.next().data, want)
	}

	mem := p.b.alloc(size)
	list := p.b.scattered(mem, cutB...)
	mine := p.b.window(rw, list...)
	clear(list) // not kept
	p.a.transfer(transport.OpWrite, mine, 0, split(source, cutA...)...)
	back := p.a.alloc(size)
	p.a.transfer(transport.OpRead, mine, 0, split(back, cutA...)...) // also waits for the Write
	wantBytes(p.t, "write of "+what, mem.Bytes, want)
	wantBytes(p.t, "read of "+what, back.Bytes, want)
	if err := p.b.Revoke(mine...); err != nil {
		p.t.Errorf("Revoke: %v", err)
	}
}

func listOddSizes(p *pair) {
	p.start()
	for _, tt := range []struct {
		size       int
		cutA, cutB []int
	}{
		{1, []int{1}, []int{0, 1}},
		{10, []int{1}, []int{3, 0, 2}},
		{4097, []int{4096}, []int{1, 4095}},
		{20000, []int{1, 3, 7, 4093}, []int{0, 5000}},
		{100001, []int{65537}, []int{4096}},
		{200000, []int{1444, 8944}, []int{199999}},
		{1<<20 + 1, []int{4096}, []int{32 << 10, 1}},
	} {
		if p.exposable(tt.size) < tt.size {
			continue
		}
		p.transfers(tt.size, tt.cutA, tt.cutB, uint64(tt.size))
	}
}

func listRandom(p *pair) {
	p.start()
	seed := rand.Uint64()
	p.t.Logf("seed %#x", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	cuts := func(size int) []int {
		c := make([]int, 1+rnd.IntN(8))
		for i := range c {
			c[i] = rnd.IntN(size/4 + 1)
		}
		c[rnd.IntN(len(c))] = size/20 + 1 // never an endless list of nothing
		return c
	}
	for i := range 50 {
		size := p.exposable(1 + rnd.IntN(1<<rnd.IntN(18)))
		p.transfers(size, cuts(size), cuts(size), uint64(i))
	}
}

// A window is written and read a little at a time, across the boundaries of its list.
func listParts(p *pair) {
	p.start()
	const size = 10000
	want := pattern(size, 1)
	mem := p.b.alloc(size)
	mine := p.b.window(rw, p.b.scattered(mem, 100, 0, 33)...)
	source, back := p.a.hold(want), p.a.alloc(size)
	const step = 97
	for off := 0; off < size; off += step {
		n := min(step, size-off)
		p.a.transfer(transport.OpWrite, mine, off, source.Sub(off, n))
	}
	for off := size; off > 0; off -= step {
		n := min(step, off)
		p.a.transfer(transport.OpRead, mine, off-n, back.Sub(off-n, n))
	}
	wantBytes(p.t, "memory", mem.Bytes, want)
	wantBytes(p.t, "what was read back", back.Bytes, want)
}
