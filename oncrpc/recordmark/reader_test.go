package recordmark

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"testing"
	"testing/iotest"
)

// fragment returns p as a fragment.
func fragment(p []byte, last bool) []byte {
	mark := uint32(len(p))
	if last {
		mark |= lastFragment
	}
	return append(binary.BigEndian.AppendUint32(nil, mark), p...)
}

// pattern returns n bytes that differ from their neighbours.
func pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(i*7 + i>>8)
	}
	return p
}

func TestReaderSplitAtEveryByte(t *testing.T) {
	want := pattern(41)
	for i := range len(want) + 1 {
		for j := i; j <= len(want); j++ {
			stream := fragment(want[:i], false)
			stream = append(stream, fragment(want[i:j], false)...)
			stream = append(stream, fragment(want[j:], true)...)
			stream = append(stream, fragment(want, true)...)
			for _, r := range []io.Reader{bytes.NewReader(stream), iotest.OneByteReader(bytes.NewReader(stream))} {
				r := newReader(r, len(want))
				for range 2 {
					rec, err := r.next()
					if err != nil {
						t.Fatalf("split at %d and %d: %v", i, j, err)
					}
					if !bytes.Equal(rec.data, want) {
						t.Fatalf("split at %d and %d: got %x, want %x", i, j, rec.data, want)
					}
					rec.Release()
				}
				if _, err := r.next(); err != io.EOF {
					t.Fatalf("split at %d and %d: got %v at the end, want io.EOF", i, j, err)
				}
			}
		}
	}
}

func TestReaderZeroLengthFragments(t *testing.T) {
	var stream []byte
	for range 3 {
		stream = append(stream, fragment(nil, false)...)
	}
	stream = append(stream, fragment([]byte("abcd"), false)...)
	stream = append(stream, fragment(nil, false)...)
	stream = append(stream, fragment(nil, true)...)
	stream = append(stream, fragment(nil, true)...) // a record of no bytes
	r := newReader(bytes.NewReader(stream), 4)
	for _, want := range []string{"abcd", ""} {
		rec, err := r.next()
		if err != nil {
			t.Fatal(err)
		}
		if string(rec.data) != want {
			t.Errorf("got %q, want %q", rec.data, want)
		}
		rec.Release()
	}
}

func TestReaderTruncated(t *testing.T) {
	stream := fragment(pattern(10), false)
	stream = append(stream, fragment(pattern(7), true)...)
	for i := range stream {
		want := io.ErrUnexpectedEOF
		if i == 0 {
			want = io.EOF
		}
		r := newReader(bytes.NewReader(stream[:i]), 100)
		if _, err := r.next(); err != want {
			t.Errorf("%d of %d bytes: got %v, want %v", i, len(stream), err, want)
		}
	}
}

func TestReaderTooLong(t *testing.T) {
	for _, tt := range []struct {
		name   string
		max    int
		stream []byte
		ok     bool
	}{
		{"one fragment", 8, fragment(pattern(9), true), false},
		{"one fragment that fits", 9, fragment(pattern(9), true), true},
		{"sum of fragments", 8, append(fragment(pattern(5), false), fragment(pattern(4), true)...), false},
		{"sum of fragments that fits", 9, append(fragment(pattern(5), false), fragment(pattern(4), true)...), true},
		{"2 GiB", DefaultMaxRecord, []byte{0xff, 0xff, 0xff, 0xff}, false},
		{"2 GiB, not the last", DefaultMaxRecord, []byte{0x7f, 0xff, 0xff, 0xff}, false},
		{"iWARP", DefaultMaxRecord, []byte("MPA ID Req Frame"), false},
		{"2 GiB behind a byte", DefaultMaxRecord, []byte{0, 0, 0, 1, 'x', 0x7f, 0xff, 0xff, 0xff}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newReader(bytes.NewReader(tt.stream), tt.max)
			rec, err := r.next()
			if tt.ok {
				if err != nil {
					t.Fatal(err)
				}
				rec.Release()
			} else if !errors.Is(err, ErrRecordTooLong) {
				t.Fatalf("got %v, want ErrRecordTooLong", err)
			}
		})
	}
}

// A peer gets memory for what it sends, not for what it announces.
func TestReaderMemory(t *testing.T) {
	const announced = 1 << 30
	for _, sent := range []int{0, 1, growStep - 1, growStep, 3 * growStep, 20 * growStep} {
		r := newReader(bytes.NewReader(make([]byte, sent)), announced)
		rec, err := r.fill(newRecord(0), announced, announced)
		if err != io.ErrUnexpectedEOF {
			t.Fatalf("%d bytes sent: got %v, want io.ErrUnexpectedEOF", sent, err)
		}
		if len(rec.data) != sent {
			t.Errorf("%d bytes sent, %d in the record", sent, len(rec.data))
		}
		if limit := 4*sent + 3*growStep; cap(rec.data) > limit {
			t.Errorf("%d bytes sent got memory for %d, want at most %d", sent, cap(rec.data), limit)
		}
		rec.Release()
	}
}

func TestRecordClasses(t *testing.T) {
	for _, n := range []int{0, 1, 1 << 10, 2 << 10, 2<<10 + 1, 1<<20 + 28, 1<<20 + 1<<10, 1<<20 + 1<<10 + 1,
		16<<20 + 1<<10, 16<<20 + 1<<10 + 1, 40 << 20} {
		rec := newRecord(n)
		if cap(rec.data) < n {
			t.Errorf("room for %d bytes, want %d", cap(rec.data), n)
		}
		if most := max(2<<10, 2*n); cap(rec.data) > most {
			t.Errorf("room for %d bytes where %d were asked for", cap(rec.data), n)
		}
		rec.data = append(rec.data, pattern(min(n, 100))...)
		larger := rec.grow(n + 5000)
		if cap(larger.data) < n+5000 || !bytes.Equal(larger.data, pattern(min(n, 100))) {
			t.Errorf("grown from %d: room for %d, %d bytes kept", n, cap(larger.data), len(larger.data))
		}
		larger.Release()
	}
}

// The longest record does not take twice its size.
func TestDefaultMaxRecordClass(t *testing.T) {
	if got := recordSize(DefaultMaxRecord); got != DefaultMaxRecord {
		t.Errorf("takes %d bytes, want %d", got, DefaultMaxRecord)
	}
}

// FuzzReader compares the reader with a simple implementation of RFC 5531 section 11.
func FuzzReader(f *testing.F) {
	f.Add([]byte{}, uint16(100))
	f.Add(fragment(pattern(40), true), uint16(100))
	f.Add(fragment(pattern(40), true), uint16(39))
	f.Add(append(fragment(pattern(3), false), fragment(pattern(9), true)...), uint16(12))
	f.Add(append(fragment(nil, false), fragment(nil, true)...), uint16(0))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3}, uint16(0xffff))
	f.Add([]byte{0x80, 0, 0}, uint16(1))
	f.Fuzz(func(t *testing.T, stream []byte, limit uint16) {
		r := newReader(iotest.HalfReader(bytes.NewReader(stream)), int(limit))
		for rest := stream; ; {
			want, n, wantErr := plainRecord(rest, int(limit))
			rec, err := r.next()
			if !errors.Is(err, wantErr) || (wantErr == nil && err != nil) {
				t.Fatalf("got %v, want %v", err, wantErr)
			}
			if err != nil {
				return
			}
			if !bytes.Equal(rec.data, want) {
				t.Fatalf("got %x, want %x", rec.data, want)
			}
			rec.Release()
			rest = rest[n:]
		}
	})
}

// plainRecord returns the first record of a stream and its length in the stream.
func plainRecord(stream []byte, limit int) (rec []byte, n int, err error) {
	for {
		if len(stream) == n && n == 0 {
			return nil, 0, io.EOF
		}
		if len(stream)-n < 4 {
			return nil, 0, io.ErrUnexpectedEOF
		}
		last := stream[n]&0x80 != 0
		size := int(stream[n]&0x7f)<<24 | int(stream[n+1])<<16 | int(stream[n+2])<<8 | int(stream[n+3])
		n += 4
		if len(rec)+size > limit {
			return nil, 0, ErrRecordTooLong
		}
		if len(stream)-n < size {
			return nil, 0, io.ErrUnexpectedEOF
		}
		rec = append(rec, stream[n:n+size]...)
		if n += size; last {
			return rec, n, nil
		}
	}
}
