package rpcrdma

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// These tests are inside the package because a peer cannot see the size classes of memory and what
// the pool keeps. Tests outside the package check that connections share pools and leave nothing
// behind (dialled_test.go, pool_sizes_test.go).

func allocated(t *testing.T, d *loopback.Domain, slices, bytes int) {
	t.Helper()
	if s, b := d.Allocated(); s != slices || b != bytes {
		t.Errorf("domain has handed out %d slices, %d bytes, want %d, %d", s, b, slices, bytes)
	}
}

func TestPoolClasses(t *testing.T) {
	d := new(loopback.Domain)
	p := newPool(d)
	for _, tt := range []struct{ n, class int }{
		{0, 1024}, {1, 1024}, {1023, 1024}, {1024, 1024}, {1025, 2048}, {4096, 4096}, {4097, 8192},
		{100_000, 1 << 17}, {1 << 20, 1 << 20}, {1<<20 + 1, 1 << 21},
	} {
		s, err := p.get(tt.n, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Bytes) != tt.n || cap(s.Bytes) != tt.class {
			t.Errorf("get(%d): length %d, capacity %d, want capacity %d", tt.n, len(s.Bytes), cap(s.Bytes), tt.class)
		}
		p.put(s, 0)
	}
	if _, err := p.get(1<<maxClass+1, 0); !errors.Is(err, transport.ErrNoMemory) {
		t.Errorf("over the largest class: error %v, want ErrNoMemory", err)
	}
	p.close()
	allocated(t, d, 0, 0)
}

func TestPoolReuse(t *testing.T) {
	d := new(loopback.Domain)
	p := newPool(d)
	first, _ := p.get(5000, 0)
	p.put(first, 0)
	again, _ := p.get(8000, 0) // of the same size class
	if unsafe.SliceData(again.Bytes) != unsafe.SliceData(first.Bytes) || len(again.Bytes) != 8000 {
		t.Error("memory given back is not used again")
	}
	other, _ := p.get(8000, 0)
	if unsafe.SliceData(other.Bytes) == unsafe.SliceData(again.Bytes) {
		t.Error("memory in use is given out twice")
	}
	again.Bytes = again.Bytes[:10] // its current length does not matter
	p.put(again, 0)
	p.put(other, 0)
	p.put(transport.Slice{}, 0) // an empty slice
	allocated(t, d, 2, 2*8192)
	p.close()
	allocated(t, d, 0, 0)
}

func TestPoolKeeps(t *testing.T) {
	d := new(loopback.Domain)
	p := newPool(d)
	var all []transport.Slice
	for range 2*poolKeep>>20 + 1 {
		s, err := p.get(1<<20, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, s := range all {
		p.put(s, 0)
	}
	allocated(t, d, poolKeep>>20, poolKeep)
	r, err := p.getReceive(p.list(testReceive))
	if err != nil {
		t.Fatal(err)
	}
	p.putReceive(r) // for which there is no room
	allocated(t, d, poolKeep>>20, poolKeep)
	s, _ := p.get(1<<20, 0) // once something is taken, there is
	p.putReceive(mustReceive(t, p))
	allocated(t, d, poolKeep>>20+1, poolKeep+4096)
	p.put(s, 0)
	allocated(t, d, poolKeep>>20, poolKeep-1<<20+4096)
	p.close()
	allocated(t, d, 0, 0)
}

// testReceive is receives of one buffer.
var testReceive = receiveKind{size: 4096}

func mustReceive(t *testing.T, p *pool) *receive {
	t.Helper()
	r, err := p.getReceive(p.list(testReceive))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPoolReceives(t *testing.T) {
	d := new(loopback.Domain)
	p := newPool(d)
	r := mustReceive(t, p)
	if r.Context != r || len(r.Local) != 1 || r.Local[0].Len() != 4096 {
		t.Errorf("receive of %d slices, context %v", len(r.Local), r.Context)
	}
	if b, more := r.parts(10); len(b) != 10 || cap(b) != 10 || more != nil {
		t.Errorf("first 10 bytes: length %d, capacity %d, and %d more", len(b), cap(b), len(more))
	}
	p.putReceive(r)
	if again := mustReceive(t, p); again != r {
		t.Error("a receive given back is not used again")
	}
	other := mustReceive(t, p)
	if other == r {
		t.Error("a receive in use is given out twice")
	}
	p.putReceive(other)
	for range 10 {
		p.putReceive(mustReceive(t, p))
	}
	if p.kept != 4096 {
		t.Errorf("%d bytes kept, want 4096", p.kept)
	}
	p.close()
	p.putReceive(r) // a late return goes back to the domain
	allocated(t, d, 0, 0)
}

func TestPoolClosed(t *testing.T) {
	d := new(loopback.Domain)
	p := newPool(d)
	s, _ := p.get(100, 0)
	r := mustReceive(t, p)
	p.close()
	allocated(t, d, 2, 1024+4096)
	p.put(s, 0)
	p.putReceive(r)
	allocated(t, d, 0, 0)
	p.close()
}

// domainFunc is a Domain whose Alloc is a function.
type domainFunc func(n int) (transport.Slice, error)

func (f domainFunc) Alloc(n int, _ transport.Access) (transport.Slice, error) { return f(n) }
func (f domainFunc) Free(transport.Slice)                                     {}

func TestPoolNoMemory(t *testing.T) {
	full := fmt.Errorf("domain: %w", transport.ErrNoMemory)
	p := newPool(domainFunc(func(int) (transport.Slice, error) { return transport.Slice{}, full }))
	if _, err := p.get(100, 0); err != full {
		t.Errorf("error %v, want %v", err, full)
	}
	if r, err := p.getReceive(p.list(testReceive)); err != full || r != nil {
		t.Errorf("%v, error %v, want %v", r, err, full)
	}
}

// A domain may cut its slices from larger memory; their neighbours are not the pool's.
func TestPoolNeighbours(t *testing.T) {
	slab := make([]byte, 1<<20)
	p := newPool(domainFunc(func(n int) (transport.Slice, error) {
		s := transport.Slice{Bytes: slab[:n], Key: 7}
		slab = slab[n:]
		return s, nil
	}))
	s, _ := p.get(1500, 0)
	if cap(s.Bytes) != 2048 {
		t.Errorf("capacity %d, want 2048", cap(s.Bytes))
	}
	p.put(s, 0)
	s, _ = p.get(2000, 0)
	if len(s.Bytes) != 2000 || cap(s.Bytes) != 2048 || s.Key != 7 {
		t.Errorf("length %d, capacity %d, key %d", len(s.Bytes), cap(s.Bytes), s.Key)
	}
}

func TestPoolConcurrent(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	d := new(loopback.Domain) // panics at a second Free
	p := newPool(d)
	p.limit = 256 << 10
	var wg sync.WaitGroup
	for id := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(id)))
			var held []transport.Slice
			for range 500 {
				if len(held) > 0 && r.IntN(2) == 0 {
					s := held[len(held)-1]
					held = held[:len(held)-1]
					for i := range s.Bytes[:min(16, len(s.Bytes))] {
						if s.Bytes[i] != byte(id) {
							t.Error("memory in use was given out twice")
						}
					}
					p.put(s, 0)
					continue
				}
				s, err := p.get(1+r.IntN(64<<10), 0)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range s.Bytes[:min(16, len(s.Bytes))] {
					s.Bytes[i] = byte(id)
				}
				held = append(held, s)
				p.putReceive(mustReceive(t, p))
			}
			for _, s := range held {
				p.put(s, 0)
			}
		})
	}
	hang.Wait(t, "those that use the pool", &wg)
	if _, bytes := d.Allocated(); bytes > p.limit {
		t.Errorf("%d bytes kept, %d allowed", bytes, p.limit)
	}
	p.close()
	allocated(t, d, 0, 0)
}

// TestPoolSet: connections of one domain together keep as much as one does. When the last one ends,
// all of it goes back to the domain, memory in use as soon as it is returned.
func TestPoolSet(t *testing.T) {
	var s poolSet
	d, other := new(loopback.Domain), new(loopback.Domain)
	var pools []*pool
	var slices []transport.Slice
	for range 4 {
		p := s.join(d)
		for range poolKeep >> 20 {
			b, err := p.get(1<<20, 0)
			if err != nil {
				t.Fatal(err)
			}
			slices = append(slices, b)
		}
		pools = append(pools, p)
	}
	for i, b := range slices[1:] {
		pools[i%len(pools)].put(b, 0)
	}
	allocated(t, d, poolKeep>>20+1, poolKeep+1<<20)
	if s.join(other) == pools[0] {
		t.Error("a pool is shared whose memory is another")
	}
	for _, p := range pools {
		allocated(t, d, poolKeep>>20+1, poolKeep+1<<20)
		s.leave(p)
	}
	allocated(t, d, 1, 1<<20)
	pools[0].put(slices[0], 0)
	allocated(t, d, 0, 0)
	if s.join(d) == pools[0] {
		t.Error("a pool is used that is closed")
	}
}
