package memory

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// These tests are inside the package because a peer cannot see what the pool keeps.
// TestDialledShare checks from outside that connections share pools and leave nothing behind.

func allocated(t *testing.T, d *loopback.Domain, slices, bytes int) {
	t.Helper()
	if s, b := d.Allocated(); s != slices || b != bytes {
		t.Errorf("domain has handed out %d slices, %d bytes, want %d, %d", s, b, slices, bytes)
	}
}

func TestPoolReuse(t *testing.T) {
	d := new(loopback.Domain)
	p := NewPool(d)
	if _, err := p.Get(MaxSize+1, 0); !errors.Is(err, transport.ErrNoMemory) {
		t.Errorf("over the largest class: error %v, want ErrNoMemory", err)
	}
	first, _ := p.Get(5000, 0)
	p.Put(first, 0)
	again, _ := p.Get(8000, 0) // of the same size class
	if unsafe.SliceData(again.Bytes) != unsafe.SliceData(first.Bytes) || len(again.Bytes) != 8000 {
		t.Error("memory given back is not used again")
	}
	other, _ := p.Get(8000, 0)
	if unsafe.SliceData(other.Bytes) == unsafe.SliceData(again.Bytes) {
		t.Error("memory in use is given out twice")
	}
	again.Bytes = again.Bytes[:10] // its current length does not matter
	p.Put(again, 0)
	p.Put(other, 0)
	p.Put(transport.Slice{}, 0) // an empty slice
	allocated(t, d, 2, 2*8192)
	p.Close()
	allocated(t, d, 0, 0)
}

func TestPoolKeeps(t *testing.T) {
	d := new(loopback.Domain)
	p := NewPool(d)
	var all []transport.Slice
	for range 2*poolKeep>>20 + 1 {
		s, err := p.Get(1<<20, 0)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, s := range all {
		p.Put(s, 0)
	}
	allocated(t, d, poolKeep>>20, poolKeep)
	r, err := p.getReceive(p.list(testReceive))
	if err != nil {
		t.Fatal(err)
	}
	p.putReceive(r) // for which there is no room
	allocated(t, d, poolKeep>>20, poolKeep)
	s, _ := p.Get(1<<20, 0) // once something is taken, there is
	p.putReceive(mustReceive(t, p))
	allocated(t, d, poolKeep>>20+1, poolKeep+4096)
	p.Put(s, 0)
	allocated(t, d, poolKeep>>20, poolKeep-1<<20+4096)
	p.Close()
	allocated(t, d, 0, 0)
}

// testReceive is receives of one buffer.
var testReceive = receiveKind{size: 4096}

func mustReceive(t *testing.T, p *Pool) *Receive {
	t.Helper()
	r, err := p.getReceive(p.list(testReceive))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestPoolClosed(t *testing.T) {
	d := new(loopback.Domain)
	p := NewPool(d)
	s, _ := p.Get(100, 0)
	r := mustReceive(t, p)
	p.Close()
	allocated(t, d, 2, 1024+4096)
	p.Put(s, 0)
	p.putReceive(r)
	allocated(t, d, 0, 0)
	p.Close()
}

// domainFunc is a Domain whose Alloc is a function.
type domainFunc func(n int) (transport.Slice, error)

func (f domainFunc) Alloc(n int, _ transport.Access) (transport.Slice, error) { return f(n) }
func (f domainFunc) Free(transport.Slice)                                     {}

// A domain may cut its slices from larger memory; their neighbours are not the pool's.
func TestPoolNeighbours(t *testing.T) {
	slab := make([]byte, 1<<20)
	p := NewPool(domainFunc(func(n int) (transport.Slice, error) {
		s := transport.Slice{Bytes: slab[:n], Key: 7}
		slab = slab[n:]
		return s, nil
	}))
	s, _ := p.Get(1500, 0)
	if cap(s.Bytes) != 2048 {
		t.Errorf("capacity %d, want 2048", cap(s.Bytes))
	}
	p.Put(s, 0)
	s, _ = p.Get(2000, 0)
	if len(s.Bytes) != 2000 || cap(s.Bytes) != 2048 || s.Key != 7 {
		t.Errorf("length %d, capacity %d, key %d", len(s.Bytes), cap(s.Bytes), s.Key)
	}
}
