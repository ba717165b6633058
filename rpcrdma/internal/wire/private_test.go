package wire

import (
	"bytes"
	"testing"
)

// TestPrivateGolden: private data as RFC 8797 section 4 lays it out. The first two are what Linux
// 6.1's client and server say. Bytes behind it are ignored.
func TestPrivateGolden(t *testing.T) {
	for _, tt := range []struct {
		name string
		data string
		want Private
	}{
		{"Linux client", "\xf6\xab\x0e\x18\x01\x01\x03\x03", Private{true, 4096, 4096}},
		{"Linux server", "\xf6\xab\x0e\x18\x01\x00\x03\x03", Private{false, 4096, 4096}},
		{"smallest", "\xf6\xab\x0e\x18\x01\x00\x00\x00", Private{false, 1024, 1024}},
		{"largest of ours", "\xf6\xab\x0e\x18\x01\x01\x3f\x3f", Private{true, 65536, 65536}},
		{"largest there is", "\xf6\xab\x0e\x18\x01\x01\xff\xff", Private{true, 262144, 262144}},
		{"send and receive differ", "\xf6\xab\x0e\x18\x01\x00\x03\x0f", Private{false, 4096, 16384}},
	} {
		if got := tt.want.Append([]byte("x")); string(got) != "x"+tt.data {
			t.Errorf("%s: appended % x, want % x", tt.name, got[1:], tt.data)
		}
		for _, behind := range [][]byte{nil, []byte("and more"), make([]byte, 48)} {
			if got := ParsePrivate(append([]byte(tt.data), behind...)); got != tt.want {
				t.Errorf("%s, and % x: parsed %+v, want %+v", tt.name, behind, got, tt.want)
			}
		}
	}
}

// TestPrivateUnknown: what says nothing leaves the defaults of RFC 8166.
func TestPrivateUnknown(t *testing.T) {
	full := []byte("\xf6\xab\x0e\x18\x01\x01\x03\x03")
	all := [][]byte{
		make([]byte, 56),
		[]byte("\xf6\xab\x0e\x19\x01\x01\x03\x03"), // another magic
		[]byte("\x18\x0e\xab\xf6\x01\x01\x03\x03"), // little-endian
		[]byte("\xf6\xab\x0e\x18\x00\x01\x03\x03"), // version 0
		[]byte("\xf6\xab\x0e\x18\x02\x01\x03\x03"), // version 2
		bytes.Join([][]byte{make([]byte, 4), full}, nil),
	}
	for i := range full {
		all = append(all, full[:i])
	}
	for _, b := range all {
		if got, want := ParsePrivate(b), (Private{Send: 1024, Recv: 1024}); got != want {
			t.Errorf("% x: %+v, want %+v", b, got, want)
		}
	}
}

// TestPrivateReservedFlags: bits that RFC 8797 reserves are ignored.
func TestPrivateReservedFlags(t *testing.T) {
	for flags, want := range map[byte]bool{0xfe: false, 0xff: true} {
		got := ParsePrivate([]byte{0xf6, 0xab, 0x0e, 0x18, 1, flags, 3, 3})
		if got != (Private{want, 4096, 4096}) {
			t.Errorf("flags %#x: %+v", flags, got)
		}
	}
}
