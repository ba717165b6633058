package stag

import "github.com/rpcrdma/go-rpcrdma/transport"

// Heap is the Domain of a software provider: memory of the Go heap, which needs no registration.
// All Heaps are equal.
type Heap struct{}

var (
	_ transport.Domain   = Heap{}
	_ transport.Importer = Heap{}
)

// Alloc returns n bytes, for any access. It does not fail.
func (Heap) Alloc(n int, _ transport.Access) (transport.Slice, error) {
	return transport.Slice{Bytes: make([]byte, n)}, nil
}

// Free does nothing.
func (Heap) Free(transport.Slice) {}

// Import returns p as a Slice, for any access. It does not fail.
func (Heap) Import(p []byte, _ transport.Access) (transport.Slice, error) {
	return transport.Slice{Bytes: p}, nil
}

// Release does nothing.
func (Heap) Release(transport.Slice) {}
