package xdr_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Every item decodes from two buffers cut at any byte, and fails if they are too short or too long.
func TestContinue(t *testing.T) {
	for _, tt := range items {
		wire := unhex(t, tt.wire)
		for cut := range len(wire) + 1 {
			decode := func(more []byte) (*xdr.Decoder, any) {
				var d xdr.Decoder
				d.Reset(bytes.Clone(wire[:cut]), nil)
				d.AppendInline(bytes.Clone(more))
				return &d, tt.decode(&d)
			}
			d, got := decode(wire[cut:])
			if diff := cmp.Diff(tt.want, got); diff != "" || d.Finish() != nil {
				t.Errorf("%s cut at byte %d: %v (-want +got)\n%s", tt.name, cut, d.Finish(), diff)
			}
			if d.Position() != len(wire) || d.Remaining() != 0 {
				t.Errorf("%s cut at byte %d: position %d, %d remaining, want %d, 0", tt.name, cut, d.Position(), d.Remaining(), len(wire))
			}
			for n := cut; n < len(wire); n++ {
				if d, _ := decode(wire[cut:n]); !errors.Is(d.Err(), xdr.ErrShort) || d.Remaining() != 0 {
					t.Errorf("%s cut at byte %d, %d of %d bytes: got %v, want ErrShort", tt.name, cut, n, len(wire), d.Err())
				}
			}
			d, _ = decode(append(bytes.Clone(wire[cut:]), 0))
			if d.Remaining() != 1 || !errors.Is(d.Finish(), xdr.ErrTrailing) {
				t.Errorf("%s cut at byte %d, a byte more: got %v, want ErrTrailing", tt.name, cut, d.Finish())
			}
		}
	}
}

// Only an item that lies across both buffers is copied.
func TestContinueRefers(t *testing.T) {
	wire := unhex(t, "00000005 61616161 61000000 00000006 62626262 62620000 00000007 63636363 63636300")
	for cut := range len(wire) + 1 {
		first, second := bytes.Clone(wire[:cut]), bytes.Clone(wire[cut:])
		var d xdr.Decoder
		d.Reset(first, nil)
		d.AppendInline(second)
		var got [3][]byte
		for i := range got {
			if got[i], _ = d.Bulk(9).Bytes(t.Context()); len(got[i]) != 5+i || cap(got[i]) != 5+i {
				t.Fatalf("cut at %d, item %d: %d bytes, capacity %d (%v)", cut, i, len(got[i]), cap(got[i]), d.Err())
			}
		}
		if d.Finish() != nil {
			t.Errorf("cut at %d: %v", cut, d.Finish())
		}
		for _, p := range [][]byte{first, second} { // items that refer to them change
			for i := range p {
				p[i] ^= 0xff
			}
		}
		for i, p := range got {
			begin := 12*i + 4
			across := begin < cut && cut < begin+8
			if letter := byte('a' + i); across != (p[0] == letter) || across != (p[len(p)-1] == letter) {
				t.Errorf("cut at %d: item %d, which stands at %d to %d, is a copy: %v", cut, i, begin, begin+8, p[0] == letter)
			}
		}
	}
}

// Count accepts a length that both buffers together can hold, and rejects a longer one.
func TestContinueCount(t *testing.T) {
	wire := unhex(t, "00000003 00000001 00000002 00000003")
	for cut := range len(wire) + 1 {
		var d xdr.Decoder
		d.Reset(wire[:cut], nil)
		d.AppendInline(wire[cut:])
		if n := d.Count(9, 4); n != 3 || d.Err() != nil || d.Remaining() != 12 {
			t.Errorf("cut at %d: got %d, %v", cut, n, d.Err())
		}
		d.Reset(wire[:cut], nil)
		d.AppendInline(wire[cut:])
		if n := d.Count(9, 5); n != 0 || !errors.Is(d.Err(), xdr.ErrShort) {
			t.Errorf("cut at %d: got %d, %v, want ErrShort", cut, n, d.Err())
		}
	}
}

// The data of a padded message is decoded by reference in the second buffer, even if the padding
// reaches into it.
func TestContinuePadding(t *testing.T) {
	wire := unhex(t, "00000001 00000005 00000000 00000000 68656c6c 6f000000 00000002")
	for cut := range len(wire) + 1 {
		var d xdr.Decoder
		d.Reset(wire[:cut:cut], nil)
		d.AppendInline(wire[cut:])
		d.SetPadding(xdr.Padding{Align: 16, Threshold: 5})
		d.Uint32()
		p, _ := d.Bulk(9).Bytes(t.Context())
		if string(p) != "hello" || d.Uint32() != 2 || d.Finish() != nil || d.Position() != 20 {
			t.Fatalf("cut at %d: got %q, %v at byte %d", cut, p, d.Finish(), d.Position())
		}
		if across := cut > 16 && cut < 24; across == (&p[0] == &wire[16]) {
			t.Errorf("cut at %d: the data is a copy: %v", cut, !across)
		}
		for n := cut; n < len(wire); n++ {
			d.Reset(wire[:cut], nil)
			d.AppendInline(wire[cut:n])
			d.SetPadding(xdr.Padding{Align: 16, Threshold: 5})
			d.Uint32()
			d.Bulk(9)
			if d.Uint32(); !errors.Is(d.Err(), xdr.ErrShort) {
				t.Errorf("cut at %d, %d of %d bytes: got %v, want ErrShort", cut, n, len(wire), d.Err())
			}
		}
	}
}

// Reset forgets the second buffer.
func TestContinueReset(t *testing.T) {
	var d xdr.Decoder
	d.Reset(unhex(t, "00000001"), nil)
	d.AppendInline(unhex(t, "00000002"))
	d.SetPadding(xdr.Padding{Align: 64, Base: 4})
	d.Reset(unhex(t, "00000001 61000000"), nil)
	if got := d.String(1); got != "a" || d.Remaining() != 0 || d.Finish() != nil {
		t.Errorf("got %q, %d remaining, %v", got, d.Remaining(), d.Finish())
	}

	// AppendInline also works on the zero value.
	d = xdr.Decoder{}
	d.AppendInline(unhex(t, "00000007"))
	if got := d.Uint32(); got != 7 || d.Finish() != nil {
		t.Errorf("got %d, %v", got, d.Finish())
	}
}

// Items in the second buffer, like those in the first, have no extra capacity, and no chunk inside
// them.
func TestContinueItems(t *testing.T) {
	wire := unhex(t, "00000001 00000002 00000003")
	for _, cut := range []int{0, 2, 4} {
		var d xdr.Decoder
		d.Reset(wire[:cut], nil)
		d.AppendInline(wire[cut:])
		if a, b := d.Raw(4), d.Raw(4); cap(a) != 4 || cap(b) != 4 || a[3] != 1 || b[3] != 2 {
			t.Errorf("cut at %d: %x with capacity %d, %x with capacity %d", cut, a, cap(a), b, cap(b))
		}
		d.Reset(wire[:cut], []xdr.Chunk{{Position: 3, Len: 4, Data: wire}})
		d.AppendInline(wire[cut:])
		if p := d.Raw(4); p != nil || !errors.Is(d.Err(), xdr.ErrChunk) {
			t.Errorf("cut at %d, a chunk inside: got %x, %v, want ErrChunk", cut, p, d.Err())
		}
	}
}
