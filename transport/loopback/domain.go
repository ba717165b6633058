package loopback

import (
	"sync"
	"unsafe"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// Domain is memory of the Go heap. It counts what is allocated, so that tests can find leaks.
type Domain struct {
	stag.Heap

	mu    sync.Mutex // guards the fields below
	sizes map[*byte]int
	bytes int
}

var (
	_ transport.Domain   = (*Domain)(nil)
	_ transport.Importer = (*Domain)(nil)
)

// Alloc returns n bytes, for any access. It does not fail.
func (d *Domain) Alloc(n int, _ transport.Access) (transport.Slice, error) {
	p := make([]byte, n)
	if n == 0 {
		return transport.Slice{Bytes: p}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.sizes == nil {
		d.sizes = make(map[*byte]int)
	}
	d.sizes[unsafe.SliceData(p)] = n
	d.bytes += n
	return transport.Slice{Bytes: p}, nil
}

// Free gives back what Alloc returned. It panics for anything else, including part of a Slice, and
// for the same Slice twice.
func (d *Domain) Free(s transport.Slice) {
	if len(s.Bytes) == 0 {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := unsafe.SliceData(s.Bytes)
	if d.sizes[p] != len(s.Bytes) {
		panic("loopback: Free of memory that is not allocated")
	}
	delete(d.sizes, p)
	d.bytes -= len(s.Bytes)
}

// Allocated returns the number of Slices that Alloc has handed out and that were not freed, and
// their bytes.
func (d *Domain) Allocated() (slices, bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.sizes), d.bytes
}
