package transport

// LKey is a provider's local name of a piece of memory (the lkey of the verbs).
// Zero is valid where the provider needs none.
type LKey uint32

// Slice is a run of bytes that a provider may read and write, with the key under
// which the provider knows it.
type Slice struct {
	Bytes []byte
	Key   LKey
}

// Sub returns n bytes of s beginning at off. Like a slice expression it panics
// when they are not inside s.
func (s Slice) Sub(off, n int) Slice {
	return Slice{Bytes: s.Bytes[off : off+n : off+n], Key: s.Key}
}

// Len reports the bytes in s.
func (s Slice) Len() int { return len(s.Bytes) }

// TotalLen reports the bytes in a scatter list.
func TotalLen(list []Slice) int {
	n := 0
	for _, s := range list {
		n += len(s.Bytes)
	}
	return n
}

// Domain hands out memory that a provider owns: pinned and registered once, so
// that pools sit on it (a protection domain of the verbs). Its methods may be called
// concurrently.
type Domain interface {
	// Alloc returns n bytes for access: no Expose of them may ask for more. Their
	// content is unspecified. It fails with an error that wraps ErrNoMemory when the
	// provider has no more.
	Alloc(n int, access Access) (Slice, error)
	// Free gives back what Alloc returned, whole. The bytes must not be part of a
	// live Region, a posted receive or a pending work request.
	Free(Slice)
}

// Importer is the ability of a Domain to use memory that it did not allocate:
// free in software, a pinning in hardware. Without it the layer above copies
// through memory of the Domain.
type Importer interface {
	// Import names p to the provider, for access as with Alloc. It allocates nothing
	// in software providers.
	Import(p []byte, access Access) (Slice, error)
	// Release ends the use of an imported slice, under the conditions of Free.
	Release(Slice)
}

// STag is a steering tag: the name under which a peer reaches exposed memory
// (RFC 5040 section 2.1; the rkey of InfiniBand, the handle of RPC-over-RDMA).
type STag uint32

// Access says what memory is for. What the provider only reads, the source of Sends
// and RDMA Writes, needs none.
type Access uint8

// The kinds of access.
const (
	// RemoteRead: the source of RDMA Reads of the peer.
	RemoteRead Access = 1 << iota
	// RemoteWrite: the target of RDMA Writes of the peer.
	RemoteWrite
	// RemoteInvalidate: a Region that the peer may name in a Send with Invalidate. It
	// is a right of Regions alone; Alloc and Import ignore it.
	RemoteInvalidate
	// LocalWrite: the target of messages and of RDMA Reads of this end, in posted
	// receives and in work requests. Expose ignores it.
	LocalWrite
)

// Region is a window into local memory that the peer can reach: bytes Base to
// Base+Len-1 of the address space of STag.
type Region struct {
	STag STag
	Base uint64 // tagged offset of the first byte
	Len  uint64 // in bytes
}

// Remote is a place in the peer's memory.
type Remote struct {
	STag   STag
	Offset uint64 // tagged offset
}
