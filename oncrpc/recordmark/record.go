package recordmark

import (
	"math/bits"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/internal/poison"
)

// record is a received record in pooled memory.
type record struct {
	data     []byte
	class    int
	share    *share // of which it has
	reserved int    // bytes
}

// Records come in classes of a power of two and a little more, so that a power of
// two of data and the header in front of it do not need twice the memory. That is what makes this
// pool another one than those of bare data, in rpcrdma and gateway.
const (
	firstClass = 10 // 2 KiB
	lastClass  = 24 // 16 MiB; larger ones are not pooled
)

// classOf returns the smallest class with room for n bytes.
func classOf(n int) int {
	class := max(firstClass, bits.Len(uint(n))-1)
	if n > classSize(class) {
		class++
	}
	return class
}

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

// grow returns r, or a copy of it, with room for n bytes in all.
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

// Release gives the memory back.
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
