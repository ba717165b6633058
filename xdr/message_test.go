package xdr_test

import (
	"bytes"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// messages returns messages with bulk data in various places.
func messages() map[string]*xdr.Message {
	m := make(map[string]*xdr.Message)
	for name, encode := range map[string]func(*xdr.Encoder){
		"empty":             func(*xdr.Encoder) {},
		"inline":            func(e *xdr.Encoder) { e.Uint64(1) },
		"bulk at the end":   func(e *xdr.Encoder) { e.Uint32(1); e.BulkBytes([]byte("hello"), nil) },
		"bulk in between":   func(e *xdr.Encoder) { e.BulkBytes([]byte("hello"), nil); e.Uint32(9) },
		"empty bulk":        func(e *xdr.Encoder) { e.BulkBytes(nil, nil); e.Bulk([][]byte{{}, {}}, nil); e.Uint32(9) },
		"several":           func(e *xdr.Encoder) { several(e, 4, 5, 0, 7) },
		"several unaligned": func(e *xdr.Encoder) { several(e, 1, 2, 3, 9) },
		"scattered":         func(e *xdr.Encoder) { e.Bulk([][]byte{[]byte("a"), {}, []byte("bc"), []byte("def")}, nil) },
	} {
		var e xdr.Encoder
		encode(&e)
		msg := e.Message()
		m[name] = &msg
	}
	return m
}

func several(e *xdr.Encoder, sizes ...int) {
	for i, n := range sizes {
		e.Uint32(uint32(i))
		e.BulkBytes(bytes.Repeat([]byte{byte(0x10 + i)}, n), nil)
	}
}

func TestMessagePieces(t *testing.T) {
	for name, m := range messages() {
		flat := m.AppendTo([]byte("in front"))
		if !bytes.HasPrefix(flat, []byte("in front")) {
			t.Errorf("%s: AppendTo does not append", name)
		}
		flat = flat[len("in front"):]
		var pieces []byte
		n := 0
		m.Pieces(func(p []byte) {
			if len(p) == 0 {
				t.Errorf("%s: an empty piece", name)
			}
			pieces = append(pieces, p...)
			n++
		})
		if !bytes.Equal(pieces, flat) {
			t.Errorf("%s: pieces %x, stream %x", name, pieces, flat)
		}
		if m.Len() != len(flat) {
			t.Errorf("%s: length %d, want %d", name, m.Len(), len(flat))
		}
		list := m.AppendPieces([][]byte{[]byte("in front")}, nil)
		if got := bytes.Join(list[1:], nil); !bytes.Equal(got, flat) || len(list) != n+1 {
			t.Errorf("%s: AppendPieces %x in %d pieces, want %x in %d", name, got, len(list)-1, flat, n)
		}
	}
}

// Leaving out any items, with their round-up, does not change the rest.
func TestMessageAppendPiecesWithout(t *testing.T) {
	for name, m := range messages() {
		for mask := range 1 << len(m.Bulk) {
			var without []bool
			flat := m.AppendTo(nil)
			for i := len(m.Bulk) - 1; i >= 0; i-- {
				if mask>>i&1 == 1 {
					it := m.Bulk[i]
					flat = append(flat[:it.Position:it.Position], flat[it.Position+xdr.RoundUp(it.Len):]...)
				}
			}
			for i := range m.Bulk {
				if mask>>i != 0 { // shorter than Bulk where nothing follows
					without = append(without, mask>>i&1 == 1)
				}
			}
			if got := bytes.Join(m.AppendPieces(nil, without), nil); !bytes.Equal(got, flat) {
				t.Errorf("%s without %v: got %x, want %x", name, without, got, flat)
			}
		}
	}
}

// Pieces refer to bulk data without copying it.
func TestMessagePiecesRefer(t *testing.T) {
	data := []byte("data")
	var e xdr.Encoder
	e.Uint32(1)
	e.BulkBytes(data, nil)
	m := e.Message()
	var last []byte
	m.Pieces(func(p []byte) { last = p })
	if &last[0] != &data[0] {
		t.Error("the data was copied")
	}
}

// A message is released only once, in whatever order with the encoder's Reset.
func TestMessageRelease(t *testing.T) {
	var a, b, owner releases
	var e xdr.Encoder
	e.BulkBytes([]byte("a"), &a)
	e.BulkBytes([]byte("nobody's"), nil)
	e.BulkBytes([]byte("b"), &b)
	m := e.Message()
	m.Owner = &owner
	if m.Release(); a != 1 || b != 1 || owner != 1 {
		t.Errorf("%d, %d, %d releases, want 1 each", a, b, owner)
	}
	m.Release()
	e.Rewind(xdr.Mark{})
	e.Reset()
	if a != 1 || b != 1 || owner != 1 {
		t.Errorf("%d, %d, %d releases after more, want 1 each", a, b, owner)
	}

	// The owner is released last, because it may reuse the memory of the items.
	var order []string
	e.BulkBytes(nil, note{&order, "item"})
	m = e.Message()
	m.Owner = note{&order, "owner"}
	m.Release()
	if len(order) != 2 || order[1] != "owner" {
		t.Errorf("released %v", order)
	}
}

type note struct {
	order *[]string
	name  string
}

func (n note) Release() { *n.order = append(*n.order, n.name) }
