package transport

// LKey is a provider's local name for a piece of memory (the lkey of the verbs). It is 0 for
// providers that need none.
type LKey uint32

// Slice is a run of bytes that a provider may read and write, with the provider's key for it.
type Slice struct {
	Bytes []byte
	Key   LKey
}

// Sub returns n bytes of s beginning at off. Like a slice expression, it panics if they are not
// inside s.
func (s Slice) Sub(off, n int) Slice {
	return Slice{Bytes: s.Bytes[off : off+n : off+n], Key: s.Key}
}

// Len returns the number of bytes in s.
func (s Slice) Len() int { return len(s.Bytes) }

// TotalLen returns the number of bytes in a scatter list.
func TotalLen(list []Slice) int {
	n := 0
	for _, s := range list {
		n += len(s.Bytes)
	}
	return n
}

// Domain hands out memory that a provider has pinned and registered (a protection domain of the
// verbs). Registering may be slow, so callers keep such memory in pools. The methods may be called
// concurrently, as long as anybody holds an endpoint of the Domain or memory of it, even after the
// connections have ended.
//
// Domains are comparable. Endpoints that can use the same memory, such as those of one device,
// return equal ones.
type Domain interface {
	// Alloc returns n bytes for access; Expose may not ask for more access to them than that. Their
	// content is unspecified. It fails with an error that wraps ErrNoMemory if the provider has no
	// more.
	Alloc(n int, access Access) (Slice, error)
	// Free gives back a whole Slice that Alloc returned. It must not be part of a live Region, a
	// posted receive or a pending work request.
	Free(Slice)
}

// Importer is a Domain that can use memory it did not allocate. In software that costs nothing; in
// hardware the memory must be pinned. Without it the layer above copies through memory of the
// Domain.
type Importer interface {
	// Import names p to the provider, for access as with Alloc. In software providers it allocates
	// nothing.
	Import(p []byte, access Access) (Slice, error)
	// Release ends the use of an imported Slice, under the conditions of Free.
	Release(Slice)
}

// STag is a steering tag: the name by which a peer reaches exposed memory (RFC 5040 section 2.1;
// the rkey of InfiniBand, the handle of RPC-over-RDMA).
type STag uint32

// Access says what memory is for. The source of Sends and RDMA Writes needs none.
type Access uint8

// The kinds of access.
const (
	// RemoteRead: the peer may read it by RDMA Read.
	RemoteRead Access = 1 << iota
	// RemoteWrite: the peer may write to it by RDMA Write.
	RemoteWrite
	// RemoteInvalidate: the peer may end its Region by Send with Invalidate, if
	// Info().RemoteInvalidate is set. Only Expose uses it; Alloc and Import ignore it.
	RemoteInvalidate
	// LocalWrite: the provider writes to it, for a posted receive or an RDMA Read of this end. Over
	// iWARP the request for the Read names a steering tag of it, by which the peer can write there.
	// Expose ignores it.
	LocalWrite
)

// Region is a window into local memory that the peer can reach, at the tagged offsets Base to
// Base+Len-1 of STag.
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
