package xdr_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// releases counts.
type releases int

func (r *releases) Release() { *r++ }

func TestEncodeLimits(t *testing.T) {
	for name, encode := range map[string]func(*xdr.Encoder){
		"opaque": func(e *xdr.Encoder) { e.Opaque(make([]byte, 5), 4) },
		"string": func(e *xdr.Encoder) { e.String("hello", 4) },
	} {
		var e xdr.Encoder
		encode(&e)
		if !errors.Is(e.Err(), xdr.ErrLimit) {
			t.Errorf("%s: got %v, want ErrLimit", name, e.Err())
		}
		first := e.Err()
		e.Fail(errors.New("another"))
		e.Uint32(1)
		if e.Err() != first {
			t.Errorf("%s: the error became %v", name, e.Err())
		}
		e.Reset()
		if e.Uint32(7); e.Err() != nil || e.Position() != 4 {
			t.Errorf("%s: after Reset: %v at byte %d", name, e.Err(), e.Position())
		}
	}
}

// Bulk data that is too long is an error, and is released.
func TestBulkTooLong(t *testing.T) {
	var rel releases
	var e xdr.Encoder
	e.Bulk(twoGiB, &rel)
	if m := e.Message(); !errors.Is(e.Err(), xdr.ErrLimit) || rel != 1 || len(m.Bulk) != 0 || m.Len() != 0 {
		t.Errorf("error %v, %d releases, %d items", e.Err(), rel, len(m.Bulk))
	}
	e.Bulk(twoGiB, nil)
}

// twoGiB is 2 GiB of repeated memory.
var twoGiB = slices.Repeat([][]byte{make([]byte, 1<<20)}, 2<<10)

// Positions count the whole stream, including earlier bulk items and their round-up.
func TestPositions(t *testing.T) {
	for a := range 10 {
		for b := range 10 {
			data := bytes.Repeat([]byte{0xaa}, 9)
			var e xdr.Encoder
			e.Uint32(1)
			e.BulkBytes(data[:a], nil)
			e.Uint64(2)
			e.Bulk([][]byte{data[:b/2], data[b/2 : b]}, nil)
			e.BulkBytes(data[:3], nil)
			m := e.Message()
			first := 4 + 4
			second := first + xdr.RoundUp(a) + 8 + 4
			third := second + xdr.RoundUp(b) + 4
			end := third + 4
			var got []int
			for _, it := range m.Bulk {
				got = append(got, it.Position, it.Len)
			}
			if diff := cmp.Diff([]int{first, a, second, b, third, 3}, got); diff != "" {
				t.Errorf("bulk of %d and %d (-want +got)\n%s", a, b, diff)
			}
			if e.Position() != end || len(e.Message().Inline) != 4+4+8+4+4 {
				t.Errorf("bulk of %d and %d: position %d, %d inline", a, b, e.Position(), len(e.Message().Inline))
			}
			// The place of each item in the flat stream is its position.
			flat := m.AppendTo(nil)
			for _, it := range m.Bulk {
				if !bytes.Equal(flat[it.Position:it.Position+it.Len], data[:it.Len]) {
					t.Errorf("bulk of %d and %d: no data at %d", a, b, it.Position)
				}
			}
		}
	}
}

func TestRewind(t *testing.T) {
	var kept, taken releases
	var e xdr.Encoder
	e.Uint32(1)
	e.BulkBytes([]byte("kept"), &kept)
	want := flat(&e)
	mark := e.Mark()
	for range 2 {
		e.Uint64(2)
		e.BulkBytes([]byte("taken"), &taken)
		e.Bulk([][]byte{[]byte("ba"), []byte("ck")}, &taken)
		e.BulkBytes([]byte("nobody's"), nil)
		e.String("too long", 1)
		e.Rewind(mark)
		if got := flat(&e); !bytes.Equal(got, want) || e.Err() != nil || e.Position() != len(want) {
			t.Errorf("after Rewind: %x at byte %d, %v, want %x", got, e.Position(), e.Err(), want)
		}
	}
	if kept != 0 || taken != 4 {
		t.Errorf("%d and %d releases, want 0 and 4", kept, taken)
	}
	e.Rewind(xdr.Mark{})
	if kept != 1 || taken != 4 || e.Position() != 0 {
		t.Errorf("%d and %d releases at byte %d, want 1 and 4", kept, taken, e.Position())
	}
}

// Rewind keeps an error from before the mark.
func TestRewindKeepsEarlierError(t *testing.T) {
	var e xdr.Encoder
	e.String("too long", 1)
	m := e.Mark()
	e.Opaque([]byte("too long"), 2)
	e.Rewind(m)
	if !errors.Is(e.Err(), xdr.ErrLimit) {
		t.Errorf("got %v, want ErrLimit", e.Err())
	}
}

func flat(e *xdr.Encoder) []byte {
	m := e.Message()
	return m.AppendTo(nil)
}

// Bulk copies the list of slices, so the caller may reuse it.
func TestBulkKeepsList(t *testing.T) {
	var e xdr.Encoder
	list := [][]byte{[]byte("ab"), []byte("cd")}
	for range 20 {
		e.Bulk(list, nil)
	}
	clear(list)
	for i, it := range e.Message().Bulk {
		if got := string(bytes.Join(it.Data, nil)); got != "abcd" || cap(it.Data) != 2 {
			t.Errorf("item %d: %q, capacity %d", i, got, cap(it.Data))
		}
	}
}

// A reused encoder does not allocate.
func TestEncoderAllocations(t *testing.T) {
	var e xdr.Encoder
	data, list := make([]byte, 100), [][]byte{make([]byte, 10), make([]byte, 20)}
	var rel releases
	total := 0
	encode := func() {
		e.Reset()
		e.Uint32(1)
		e.String("name", 255)
		e.BulkBytes(data, &rel)
		e.Bulk(list, &rel)
		m := e.Message()
		m.Pieces(func(p []byte) { total += len(p) })
		m.Release()
	}
	encode()
	if n := testing.AllocsPerRun(100, encode); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
