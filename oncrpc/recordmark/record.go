package recordmark

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/internal/sizeclass"
)

// record is a received record in pooled memory.
type record struct {
	data     []byte
	class    int
	share    *share // from which memory is reserved, or nil
	reserved int    // in bytes
}

// Records come in size classes with a little more than a power of two. So a power of two of data
// with a header does not need twice the memory.
const (
	firstClass = 10 // 2 KiB
	lastClass  = 24 // 16 MiB; larger ones are not pooled
)

// classOf returns the smallest class with room for n bytes.
func classOf(n int) int { return sizeclass.Of(n-max(1<<10, n/65), firstClass) }

func classSize(class int) int { return 1<<class + max(1<<10, 1<<class>>6) }

// recordSize returns how much memory a record of n bytes takes.
func recordSize(n int) int {
	if class := classOf(n); class <= lastClass {
		return classSize(class)
	}
	return n
}

var records [lastClass + 1]sync.Pool

// newRecord returns an empty record with room for n bytes.
func newRecord(n int) *record {
	class := classOf(n)
	if class > lastClass {
		return &record{data: make([]byte, 0, n), class: class}
	}
	if r, ok := records[class].Get().(*record); ok {
		return r
	}
	return &record{data: make([]byte, 0, classSize(class)), class: class}
}

// grow returns r, or a copy of it, with room for n bytes in total.
func (r *record) grow(n int) *record {
	if n <= cap(r.data) {
		return r
	}
	larger := newRecord(n)
	larger.data = append(larger.data, r.data...)
	larger.share, larger.reserved = r.share, r.reserved
	r.share, r.reserved = nil, 0
	r.Release()
	return larger
}

// Release returns the memory to its pool.
func (r *record) Release() {
	poison.Bytes(r.data)
	r.data = r.data[:0]
	if r.share != nil {
		r.share.release(r.reserved)
		r.share, r.reserved = nil, 0
	}
	if r.class <= lastClass {
		records[r.class].Put(r)
	}
}
