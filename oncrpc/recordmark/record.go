package recordmark

import (
	"math/bits"
	"sync"
)

// record is a received record in pooled memory.
type record struct {
	data  []byte
	class int
}

// Records come in classes of a power of two and a little more, so that a power of
// two of data and the header in front of it do not need twice the memory.
const (
	firstClass  = 10 // 2 KiB
	lastClass   = 24 // 16 MiB; larger ones are not pooled
	recordSlack = 1 << 10
)

var records [lastClass + 1]sync.Pool

// newRecord returns an empty record with room for n bytes.
func newRecord(n int) *record {
	class := max(firstClass, bits.Len(uint(max(0, n-recordSlack-1))))
	if class > lastClass {
		return &record{make([]byte, 0, n), class}
	}
	if r, ok := records[class].Get().(*record); ok {
		return r
	}
	return &record{make([]byte, 0, 1<<class+recordSlack), class}
}

// grow returns r, or a copy of it, with room for n bytes in all.
func (r *record) grow(n int) *record {
	if n <= cap(r.data) {
		return r
	}
	larger := newRecord(n)
	larger.data = append(larger.data, r.data...)
	r.Release()
	return larger
}

// Release gives the memory back.
func (r *record) Release() {
	r.data = r.data[:0]
	if r.class <= lastClass {
		records[r.class].Put(r)
	}
}
