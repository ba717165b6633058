package memory

import (
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// These tests are inside the package for how receives are laid out in memory that is aligned by
// chance. What lands in them is tested from outside (TestTwoBuffers, TestPaddedLandsAligned).

// TestReceiveBuffers checks the buffers of receives: one, or two whose second is aligned and begins
// at that offset of the message.
func TestReceiveBuffers(t *testing.T) {
	for _, kind := range []receiveKind{{4096, 0}, {4096, 64}, {4096, 2048}, {5120, 1024}, {65536, 32768}} {
		t.Run(fmt.Sprint(kind), func(t *testing.T) {
			d := new(loopback.Domain)
			p := NewPool(d)
			var all []*Receive
			for range 8 {
				r, err := p.getReceive(p.list(kind))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
				if got := transport.TotalLen(r.Local); got != kind.size {
					t.Errorf("receive of %d bytes, want %d", got, kind.size)
				}
				first, _ := r.parts(10)
				_, second := r.parts(kind.align + 10)
				if cap(first) != 10 || second != nil && cap(second) != 10 {
					t.Error("a message can grow into what is behind it")
				}
				if kind.align == 0 {
					if len(r.Local) != 1 {
						t.Errorf("%d buffers, want 1", len(r.Local))
					}
					continue
				}
				if len(r.Local) != 2 || r.Local[0].Len() != kind.align {
					t.Fatalf("%d buffers, the first of %d bytes, want 2 and %d", len(r.Local), r.Local[0].Len(), kind.align)
				}
				if off := uintptr(unsafe.Pointer(&r.Local[1].Bytes[0])) % uintptr(kind.align); off != 0 {
					t.Errorf("the second buffer begins %d bytes behind a multiple of %d", off, kind.align)
				}
			}
			if _, size := d.Allocated(); size != len(all)*kind.memory() {
				t.Errorf("%d bytes allocated, want %d", size, len(all)*kind.memory())
			}
			for _, r := range all {
				p.putReceive(r)
			}
			p.Close()
			if n, size := d.Allocated(); n != 0 {
				t.Errorf("%d pieces of memory leaked, %d bytes", n, size)
			}
		})
	}
}

// TestReceiveReuse checks that receives are used again by kind.
func TestReceiveReuse(t *testing.T) {
	p := NewPool(new(loopback.Domain))
	a, b := receiveKind{4096, 0}, receiveKind{4096, 64}
	ra, _ := p.getReceive(p.list(a))
	rb, _ := p.getReceive(p.list(b))
	p.putReceive(ra)
	p.putReceive(rb)
	if want := a.memory() + b.memory(); p.kept != want {
		t.Errorf("%d bytes kept, want %d", p.kept, want)
	}
	if got, _ := p.getReceive(p.list(b)); got != rb {
		t.Error("another receive than the one put back")
	}
	if got, _ := p.getReceive(p.list(receiveKind{8192, 0})); got == ra {
		t.Error("a receive of another size")
	}
	if got, _ := p.getReceive(p.list(a)); got != ra {
		t.Error("another receive than the one put back")
	}
	if p.kept != 0 {
		t.Errorf("%d bytes kept, want none", p.kept)
	}
}

// stingy is a Domain that has a number of pieces to give.
type stingy struct {
	transport.Domain
	left int
}

func (d *stingy) Alloc(n int, access transport.Access) (transport.Slice, error) {
	if d.left == 0 {
		return transport.Slice{}, transport.ErrNoMemory
	}
	d.left--
	return d.Domain.Alloc(n, access)
}

// TestReceiveNoMemory checks that nothing stays allocated if a receive gets only one of its
// buffers.
func TestReceiveNoMemory(t *testing.T) {
	for left := range 2 {
		d := new(loopback.Domain)
		p := NewPool(&stingy{d, left})
		if _, err := p.getReceive(p.list(receiveKind{4096, 64})); !errors.Is(err, transport.ErrNoMemory) {
			t.Errorf("error %v, want %v", err, transport.ErrNoMemory)
		}
		if n, _ := d.Allocated(); n != 0 {
			t.Errorf("%d pieces of memory left behind", n)
		}
		if left == 0 {
			if _, err := p.Get(100, 0); !errors.Is(err, transport.ErrNoMemory) {
				t.Errorf("error %v, want %v", err, transport.ErrNoMemory)
			}
		}
	}
}

// TestLongListsNotKept checks that unused receives do not keep the memory of long chunk lists.
func TestLongListsNotKept(t *testing.T) {
	p := NewPool(new(loopback.Domain))
	l := p.list(receiveKind{size: 1024})
	for _, n := range []int{1, maxKeptSegments, maxKeptSegments + 1} {
		r, err := p.getReceive(l)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Lists.Reset()
		r.Header.AddWrite(make([]chunks.Segment, n))
		p.putReceive(r)
		if kept := cap(r.Header.Writes) > 0; kept != (n <= maxKeptSegments) {
			t.Errorf("%d segments: lists kept is %t", n, kept)
		}
	}
}
