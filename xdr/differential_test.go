package xdr_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"testing"
	"unicode"

	"github.com/buildbarn/go-xdr/pkg/protocols/nfsv3"
	"github.com/buildbarn/go-xdr/pkg/runtime"
	xdr2 "github.com/davecgh/go-xdr/xdr2"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// These tests compare this codec with two others: davecgh/go-xdr with its limited decoder, and
// buildbarn/go-xdr with its runtime and the types that it generated from RFC 1813. All must accept
// the same bytes and decode the same values. Known, intended differences are:
//
//   - davecgh accepts a round-up that is not zero.
//   - buildbarn accepts only ASCII strings.
//   - buildbarn accepts unnamed enumeration values and lacks floating-point numbers; it checks
//     their bits.

// limit is the maximum length of opaque items, strings and arrays for all codecs.
const limit = 40

// FuzzItems decodes arbitrary bytes as arbitrary items with all three codecs, one item at a time,
// and encodes the values again. Our decoder gets two buffers.
func FuzzItems(f *testing.F) {
	for i, tt := range items {
		f.Add(unhex(f, tt.wire), []byte{byte(i)}, uint8(i))
	}
	var all []byte
	for kind := range kinds {
		all = append(all, byte(kind))
	}
	for n := range 12 {
		f.Add(bytes.Repeat([]byte{0, 0, 0, 1}, 5*n), all[:n], uint8(n))
		f.Add(bytes.Repeat([]byte{0, 0, 0, 3, 'a', 'b', 'c', 0}, 3*n), slices.Repeat([]byte{11, 12, 13, 14}, n), uint8(3*n))
	}
	f.Fuzz(func(t *testing.T, wire, types []byte, cut uint8) {
		first := min(int(cut), len(wire))
		ours := xdr.NewDecoder(wire[:first])
		ours.AppendInline(wire[first:])
		readers := [2]*bytes.Reader{bytes.NewReader(wire), bytes.NewReader(wire)}
		dave := xdr2.NewDecoderLimited(readers[0], limit)
		var out xdr.Encoder
		for _, typ := range types {
			kind := kinds[int(typ)%len(kinds)]
			before := ours.Position()
			got := kind.ours(ours, &out)
			davecgh, daveErr := kind.davecgh(dave)
			buildbarn, barnErr := kind.buildbarn(readers[1])
			err := ours.Err()
			if errors.Is(err, xdr.ErrPadding) {
				if daveErr != nil || barnErr == nil {
					t.Errorf("%s at byte %d of %x: we say %v, davecgh %v, buildbarn %v", kind.name, before, wire, err, daveErr, barnErr)
				}
				return
			}
			if kind.name == "string" && err == nil && barnErr != nil {
				if !slices.ContainsFunc([]byte(got), func(b byte) bool { return b > unicode.MaxASCII }) {
					t.Errorf("string %q: buildbarn says %v", got, barnErr)
				}
				return
			}
			if (daveErr == nil) != (err == nil) || (barnErr == nil) != (err == nil) {
				t.Fatalf("%s at byte %d of %x: we say %v, davecgh %v, buildbarn %v", kind.name, before, wire, err, daveErr, barnErr)
			}
			if err != nil {
				return
			}
			if got != davecgh || got != buildbarn {
				t.Errorf("%s at byte %d of %x: we see %q, davecgh %q, buildbarn %q", kind.name, before, wire, got, davecgh, buildbarn)
			}
			for _, r := range readers {
				if at := int(r.Size()) - r.Len(); at != ours.Position() {
					t.Fatalf("%s of %x: we are at byte %d, they at %d", kind.name, wire, ours.Position(), at)
				}
			}
		}
		// The values have only one encoding.
		if got, want := out.Message().Inline, wire[:ours.Position()]; out.Err() != nil || !bytes.Equal(got, want) {
			t.Errorf("encoded %x, %v, want %x", got, out.Err(), want)
		}
	})
}

// kinds are the items that all three codecs have. Each decoder returns its value as a string.
var kinds = []struct {
	name      string
	ours      func(*xdr.Decoder, *xdr.Encoder) string
	davecgh   func(*xdr2.Decoder) (string, error)
	buildbarn func(io.Reader) (string, error)
}{
	{"integer", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Int32()
		e.Int32(v)
		return seen(v)
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeInt()
		return seen(v), err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadInt(r)
		return seen(v), err
	}},
	{"unsigned", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Uint32()
		e.Uint32(v)
		return seen(v)
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeUint()
		return seen(v), err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadUnsignedInt(r)
		return seen(v), err
	}},
	{"hyper", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Int64()
		e.Int64(v)
		return seen(v)
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeHyper()
		return seen(v), err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadHyper(r)
		return seen(v), err
	}},
	{"unsigned hyper", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Uint64()
		e.Uint64(v)
		return seen(v)
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeUhyper()
		return seen(v), err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadUnsignedHyper(r)
		return seen(v), err
	}},
	{"bool", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Bool()
		e.Bool(v)
		return seen(v)
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeBool()
		return seen(v), err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadBool(r)
		return seen(v), err
	}},
	{"floating-point", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Float32()
		e.Float32(v)
		return seen(math.Float32bits(v))
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeFloat()
		return seen(math.Float32bits(v)), err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadUnsignedInt(r)
		return seen(v), err
	}},
	{"double-precision", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Float64()
		e.Float64(v)
		return seen(math.Float64bits(v))
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeDouble()
		return seen(math.Float64bits(v)), err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadUnsignedHyper(r)
		return seen(v), err
	}},
	{"enumeration", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := xdr.DecodeEnum(d, states...)
		e.Int32(int32(v))
		return seen(v)
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeEnum(map[int32]bool{-5: true, 0: true, 10004: true})
		return seen(v), err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadInt(r)
		if err == nil && !slices.Contains(states, state(v)) {
			err = errors.New("a value without a name")
		}
		return seen(v), err
	}},
	{"linked list", func(d *xdr.Decoder, e *xdr.Encoder) string {
		var v []uint32
		for d.Optional() {
			v = append(v, d.Uint32())
		}
		for i := range v {
			e.Optional(true)
			e.Uint32(v[i])
		}
		e.Optional(false)
		return seen(v...)
	}, func(d *xdr2.Decoder) (string, error) {
		var v []uint32
		more, _, err := d.DecodeBool()
		for more && err == nil {
			var w uint32
			if w, _, err = d.DecodeUint(); err != nil {
				break
			}
			v = append(v, w)
			more, _, err = d.DecodeBool()
		}
		return seen(v...), err
	}, func(r io.Reader) (string, error) { // as the generated code does
		var v []uint32
		more, _, err := runtime.ReadBool(r)
		for more && err == nil {
			var w uint32
			if w, _, err = runtime.ReadUnsignedInt(r); err != nil {
				break
			}
			v = append(v, w)
			more, _, err = runtime.ReadBool(r)
		}
		return seen(v...), err
	}},
	{"fixed opaque", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Fixed(7)
		e.Fixed(v)
		return string(v)
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeFixedOpaque(7)
		return string(v), err
	}, func(r io.Reader) (string, error) {
		var v [7]byte
		_, err := runtime.ReadFixedLengthOpaque(r, v[:])
		return string(v[:]), err
	}},
	{"array", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := make([]uint32, d.Count(limit, 4))
		e.Uint32(uint32(len(v)))
		for i := range v {
			v[i] = d.Uint32()
			e.Uint32(v[i])
		}
		return seen(v...)
	}, func(d *xdr2.Decoder) (string, error) {
		var v []uint32
		_, err := d.Decode(&v)
		return seen(v...), err
	}, func(r io.Reader) (string, error) { // as the generated code does
		n, _, err := runtime.ReadUnsignedInt(r)
		if n > limit {
			return "", errors.New("too long")
		}
		var v []uint32
		for i := uint32(0); i < n && err == nil; i++ {
			var w uint32
			w, _, err = runtime.ReadUnsignedInt(r)
			v = append(v, w)
		}
		return seen(v...), err
	}},
	{"opaque", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.Opaque(limit)
		e.Opaque(v, limit)
		return string(v)
	}, davecghOpaque, buildbarnOpaque},
	{"bulk", func(d *xdr.Decoder, e *xdr.Encoder) string {
		b := d.Bulk(limit)
		v := make([]byte, b.Len())
		b.CopyTo(v)
		e.Opaque(v, limit)
		return string(v)
	}, davecghOpaque, buildbarnOpaque},
	{"bulk, into a buffer", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.BulkInto(make([]byte, limit))
		e.Opaque(v, limit)
		return string(v)
	}, davecghOpaque, buildbarnOpaque},
	{"string", func(d *xdr.Decoder, e *xdr.Encoder) string {
		v := d.String(limit)
		e.String(v, limit)
		return v
	}, func(d *xdr2.Decoder) (string, error) {
		v, _, err := d.DecodeString()
		return v, err
	}, func(r io.Reader) (string, error) {
		v, _, err := runtime.ReadASCIIString(r, limit)
		return v, err
	}},
}

func seen[T any](v ...T) string { return fmt.Sprint(v) }

func davecghOpaque(d *xdr2.Decoder) (string, error) {
	v, _, err := d.DecodeOpaque()
	return string(v), err
}

func buildbarnOpaque(r io.Reader) (string, error) {
	v, _, err := runtime.ReadVariableLengthOpaque(r, limit)
	return string(v), err
}

// FuzzWriteArgs decodes WRITE3args, with the data in the stream.
func FuzzWriteArgs(f *testing.F) {
	// WRITE of "small\n", by Linux 6.1.
	f.Add(unhex(f, `00000014 0100010107000000bb2079da7f00000000000000 0000000000000000 00000006 00000002 00000006 736d616c6c0a0000`))
	f.Add(unhex(f, `00000000 ffffffffffffffff 00000000 00000000 00000000`))
	f.Fuzz(func(t *testing.T, wire []byte) {
		d := xdr.NewDecoder(wire)
		ours := nfsv3.Write3args{
			File:   nfsv3.NfsFh3{Data: d.Opaque(64)},
			Offset: d.Uint64(),
			Count:  d.Uint32(),
			Stable: nfsv3.StableHow(d.Enum(2)),
		}
		b := d.Bulk(len(wire))
		ours.Data, _ = b.Bytes(t.Context())
		compare(t, wire, d, &ours, new(nfsv3.Write3args))

		if d.Err() != nil {
			return
		}
		var e xdr.Encoder
		e.Opaque(ours.File.Data, 64)
		e.Uint64(ours.Offset)
		e.Uint32(ours.Count)
		e.Uint32(uint32(ours.Stable))
		e.BulkBytes(ours.Data, nil)
		compareEncoded(t, &e, &ours)
	})
}

// FuzzSetAttrArgs decodes SETATTR3args: unions, optional data, enumerations.
func FuzzSetAttrArgs(f *testing.F) {
	// SETATTR of a mode, by Linux 6.1.
	f.Add(unhex(f, `00000014 0100010107000000bb2079da7f00000000000000 00000001 00000180 00000000 00000000 00000000 00000000 00000000 00000000`))
	// All fields are present.
	f.Add(unhex(f, `00000004 01020304 00000001 000001ff 00000001 00000007 00000001 00000008 00000001 0000000100000000
		00000002 00000001 00000002 00000001 00000001 00000003 00000004`))
	f.Fuzz(func(t *testing.T, wire []byte) {
		d := xdr.NewDecoder(wire)
		ours := nfsv3.Setattr3args{Object: nfsv3.NfsFh3{Data: d.Opaque(64)}}
		a := &ours.NewAttributes
		a.Mode = &nfsv3.SetMode3_default{}
		if d.Bool() {
			a.Mode = &nfsv3.SetMode3_TRUE{Mode: d.Uint32()}
		}
		a.Uid = &nfsv3.SetUid3_default{}
		if d.Bool() {
			a.Uid = &nfsv3.SetUid3_TRUE{Uid: d.Uint32()}
		}
		a.Gid = &nfsv3.SetGid3_default{}
		if d.Bool() {
			a.Gid = &nfsv3.SetGid3_TRUE{Gid: d.Uint32()}
		}
		a.Size = &nfsv3.SetSize3_default{}
		if d.Bool() {
			a.Size = &nfsv3.SetSize3_TRUE{Size: d.Uint64()}
		}
		if how := nfsv3.TimeHow(d.Enum(2)); how == nfsv3.SET_TO_CLIENT_TIME {
			a.Atime = &nfsv3.SetAtime_SET_TO_CLIENT_TIME{Atime: nfsTime(d)}
		} else {
			a.Atime = &nfsv3.SetAtime_default{SetIt: how}
		}
		if how := nfsv3.TimeHow(d.Enum(2)); how == nfsv3.SET_TO_CLIENT_TIME {
			a.Mtime = &nfsv3.SetMtime_SET_TO_CLIENT_TIME{Mtime: nfsTime(d)}
		} else {
			a.Mtime = &nfsv3.SetMtime_default{SetIt: how}
		}
		ours.Guard = &nfsv3.Sattrguard3_FALSE{}
		if d.Bool() {
			ours.Guard = &nfsv3.Sattrguard3_TRUE{ObjCtime: nfsTime(d)}
		}
		compare(t, wire, d, &ours, new(nfsv3.Setattr3args))
	})
}

func nfsTime(d *xdr.Decoder) nfsv3.Nfstime3 {
	return nfsv3.Nfstime3{Seconds: d.Uint32(), Nseconds: d.Uint32()}
}

// generated is a type that buildbarn/go-xdr generated.
type generated interface {
	io.ReaderFrom
	io.WriterTo
}

// compare checks that d decoded the same value as the other codec.
func compare(t *testing.T, wire []byte, d *xdr.Decoder, ours, theirs generated) {
	t.Helper()
	n, theirErr := theirs.ReadFrom(bytes.NewReader(wire))
	ourErr := d.Err()
	if errors.Is(ourErr, xdr.ErrValue) {
		return // an enumeration value without a name; FuzzItems watches the bools
	}
	if (ourErr == nil) != (theirErr == nil) {
		t.Fatalf("%x: we say %v, they %v", wire, ourErr, theirErr)
	}
	if ourErr != nil {
		return
	}
	if d.Position() != int(n) {
		t.Errorf("%x: we read %d bytes, they %d", wire, d.Position(), n)
	}
	// Types differ, so compare their encodings.
	if a, b := encoded(t, ours), encoded(t, theirs); !bytes.Equal(a, b) || !bytes.Equal(a, wire[:n]) {
		t.Errorf("%x: we see %x, they %x", wire, a, b)
	}
}

func compareEncoded(t *testing.T, e *xdr.Encoder, theirs generated) {
	t.Helper()
	m := e.Message()
	if a, b := m.AppendTo(nil), encoded(t, theirs); e.Err() != nil || !bytes.Equal(a, b) {
		t.Errorf("we encode %x, %v, they %x", a, e.Err(), b)
	}
}

func encoded(t *testing.T, g generated) []byte {
	t.Helper()
	var buf bytes.Buffer
	if _, err := g.WriteTo(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}
