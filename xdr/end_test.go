package xdr_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// panicOf returns the value of f's panic as a string, or "".
func panicOf(f func()) (text string) {
	defer func() {
		if p := recover(); p != nil {
			text = fmt.Sprint(p)
		}
	}()
	f()
	return ""
}

// Using an encoder or decoder after Invalidate panics, and changes nothing.
func TestEnd(t *testing.T) {
	for name, late := range map[string]func(*xdr.Encoder){
		"Uint32":    func(e *xdr.Encoder) { e.Uint32(1) },
		"Uint64":    func(e *xdr.Encoder) { e.Uint64(1) },
		"Bool":      func(e *xdr.Encoder) { e.Bool(true) },
		"Fixed":     func(e *xdr.Encoder) { e.Fixed([]byte("abcd")) },
		"Fixed, 0":  func(e *xdr.Encoder) { e.Fixed(nil) },
		"Raw":       func(e *xdr.Encoder) { e.Raw([]byte("abcd")) },
		"Opaque":    func(e *xdr.Encoder) { e.Opaque(nil, 4) },
		"String":    func(e *xdr.Encoder) { e.String("long", 3) },
		"BulkBytes": func(e *xdr.Encoder) { e.BulkBytes([]byte("abcd"), nil) },
		"Rewind":    func(e *xdr.Encoder) { e.Rewind(xdr.Mark{}) },
		"Float32":   func(e *xdr.Encoder) { e.Float32(1) },
		"Float64":   func(e *xdr.Encoder) { e.Float64(1) },
		"Optional":  func(e *xdr.Encoder) { e.Optional(false) },
		"Fail":      func(e *xdr.Encoder) { e.Fail(xdr.ErrLimit) },
	} {
		var e xdr.Encoder
		e.Uint32(7)
		e.BulkBytes([]byte("data"), nil)
		m := e.Message()
		want := m.AppendTo(nil)
		e.Invalidate()
		if got := panicOf(func() { late(&e) }); !strings.Contains(got, "outlived the handler") {
			t.Errorf("%s: panic %q", name, got)
		}
		m = e.Message()
		if got := m.AppendTo(nil); !bytes.Equal(got, want) || e.Err() != nil {
			t.Errorf("%s has changed the stream: %x, %v, want %x", name, got, e.Err(), want)
		}
		e.Reset()
		if got := panicOf(func() { e.Uint32(1) }); got != "" {
			t.Errorf("%s: after Reset: panic %q", name, got)
		}
	}
	for name, late := range map[string]func(*xdr.Decoder){
		"Uint32":     func(d *xdr.Decoder) { d.Uint32() },
		"Uint64":     func(d *xdr.Decoder) { d.Uint64() },
		"Fixed":      func(d *xdr.Decoder) { d.Fixed(4) },
		"Opaque":     func(d *xdr.Decoder) { d.Opaque(4) },
		"Bulk":       func(d *xdr.Decoder) { d.Bulk(4) },
		"Count":      func(d *xdr.Decoder) { d.Count(1, 4) },
		"Raw":        func(d *xdr.Decoder) { d.Raw(4) },
		"Rest":       func(d *xdr.Decoder) { _, _ = d.Rest(t.Context(), 9) },
		"BulkInto":   func(d *xdr.Decoder) { d.BulkInto(make([]byte, 4)) },
		"Float32":    func(d *xdr.Decoder) { d.Float32() },
		"Float64":    func(d *xdr.Decoder) { d.Float64() },
		"Optional":   func(d *xdr.Decoder) { d.Optional() },
		"DecodeEnum": func(d *xdr.Decoder) { xdr.DecodeEnum(d, fine) },
	} {
		d := xdr.NewDecoder([]byte("\x00\x00\x00\x04abcdefgh"))
		d.Invalidate()
		if got := panicOf(func() { late(d) }); !strings.Contains(got, "outlived the handler") {
			t.Errorf("%s: panic %q", name, got)
		}
		d.Reset([]byte{0, 0, 0, 9}, nil)
		if got := d.Uint32(); got != 9 {
			t.Errorf("%s: after Reset: got %d, want 9", name, got)
		}
	}
}
