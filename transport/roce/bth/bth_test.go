package bth_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// goldens are packets written by hand from IBTA sections 9.2 to 9.3.
var goldens = []struct {
	name string
	p    bth.Packet
	want string // headers, and payload with its pad
}{
	{"send last", bth.Packet{Opcode: bth.SendLast, Migrated: true, Solicited: true, AckReq: true,
		PKey: 0xFFFF, QP: 0x123456, PSN: 0xABCDEF, Payload: []byte("abc")},
		"02d0ffff0012345680abcdef" + "61626300"},
	{"send with immediate", bth.Packet{Opcode: bth.SendOnlyImmediate, PKey: 0x8001, QP: 2, PSN: 1,
		Immediate: 0x01020304, Payload: []byte("abcd")},
		"050080010000000200000001" + "01020304" + "61626364"},
	{"send with invalidate", bth.Packet{Opcode: bth.SendLastInvalidate, Migrated: true, PKey: 0xFFFF,
		QP: 2, PSN: 0xFFFFFF, Invalidate: 0xDEADBEEF, Payload: []byte("ab")},
		"1660ffff0000000200ffffff" + "deadbeef" + "61620000"},
	{"write only of nothing", bth.Packet{Opcode: bth.WriteOnly, Migrated: true, PKey: 0xFFFF, QP: 2,
		PSN: 7, AckReq: true, Payload: []byte{}},
		"0a40ffff0000000280000007" + "00000000000000000000000000000000"},
	{"read request", bth.Packet{Opcode: bth.ReadRequest, Migrated: true, PKey: 0xFFFF, QP: 2, PSN: 7,
		RETH: bth.RETH{Addr: 0x0102030405060708, RKey: 0x0A0B0C0D, Len: 0x10}},
		"0c40ffff0000000200000007" + "01020304050607080a0b0c0d00000010"},
	{"read response", bth.Packet{Opcode: bth.ReadOnly, Migrated: true, PKey: 0xFFFF, QP: 2, PSN: 7,
		AETH: bth.AETH{Syndrome: bth.ACK, MSN: 3}, Payload: []byte("x")},
		"1070ffff0000000200000007" + "1f000003" + "78000000"},
	{"nak", bth.Packet{Opcode: bth.Acknowledge, Migrated: true, PKey: 0xFFFF, QP: 2, PSN: 7,
		AETH: bth.AETH{Syndrome: bth.NAKAccess, MSN: 0xFFFFFF}},
		"1140ffff0000000200000007" + "62ffffff"},
	{"datagram", bth.Packet{Opcode: bth.Datagram, PKey: 0xFFFF, QP: 1,
		DETH: bth.DETH{QKey: 0x80010000, QP: 1}, Payload: []byte("abcd")},
		"6400ffff0000000100000000" + "8001000000000001" + "61626364"},
	{"congestion", bth.Packet{Opcode: bth.CNP, Migrated: true, BECN: true, PKey: 0xFFFF, QP: 9,
		Payload: make([]byte, 16)},
		"8140ffff4000000900000000" + "00000000000000000000000000000000"},
}

func TestGolden(t *testing.T) {
	for _, tt := range goldens {
		t.Run(tt.name, func(t *testing.T) {
			want, err := hex.DecodeString(tt.want)
			if err != nil {
				t.Fatal(err)
			}
			b := append(tt.p.AppendHeaders(nil, len(tt.p.Payload)), tt.p.Payload...)
			b = append(b, make([]byte, bth.Pad(len(tt.p.Payload)))...)
			if !bytes.Equal(b, want) {
				t.Errorf("got  %x\nwant %x", b, want)
			}
			want = append(want, 0, 0, 0, 0)
			got, err := bth.Parse(want)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.p, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, packet string
		want         error
	}{
		{"nothing", "", bth.ErrShort},
		{"no ICRC", "0400ffff0000000200000001000000", bth.ErrShort},
		{"version 1", "0401ffff000000020000000100000000", bth.ErrVersion},
		{"opcode of an unreliable connection", "2400ffff000000020000000100000000", bth.ErrOpcode},
		{"more pad than payload", "0430ffff00000002000000010000" + "00000000", bth.ErrPad},
		{"payload of a read request", "0c00ffff0000000200000001" +
			"00000000000000000000000000000000" + "00000000" + "00000000", bth.ErrPad},
		{"no room for the RETH", "0c00ffff0000000200000001" + "0000000000000000" + "00000000",
			bth.ErrShort},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b, err := hex.DecodeString(tt.packet)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bth.Parse(b); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

var paths = map[string]*bth.Path{
	"IPv4": newPath("192.0.2.1:4791", "192.0.2.2:4791"),
	"IPv6": newPath("[2001:db8::1]:50000", "[2001:db8::2]:4791"),
}

func newPath(src, dst string) *bth.Path {
	p := bth.NewPath(netip.MustParseAddrPort(src), netip.MustParseAddrPort(dst))
	return &p
}

// TestCheckFindsFlips flips each bit of packets of many lengths. With IPv4, Check may return
// another identification instead of failing, but never the same.
func TestCheckFindsFlips(t *testing.T) {
	for name, path := range paths {
		for _, n := range []int{0, 1, 4, 5, 255, 256, 1024, 4096} {
			h := bth.Packet{Opcode: bth.WriteOnly, QP: 77, PSN: 3}
			b := append(h.AppendHeaders(nil, n), make([]byte, n+bth.Pad(n))...)
			b = path.AppendSum(b, 0, 0)
			if id, ok := path.Check(b); !ok || id != 0 {
				t.Fatalf("%s, %d bytes: found %d, %v", name, n, id, ok)
			}
			passed := 0
			for i := range 8 * len(b) {
				b[i/8] ^= 1 << (i % 8)
				id, ok := path.Check(b)
				masked := i/8 == 4 // FECN and BECN
				if ok && id == 0 != masked {
					t.Fatalf("%s, %d bytes: flipped bit %d is not found", name, n, i)
				}
				if ok && !masked {
					passed++
				}
				b[i/8] ^= 1 << (i % 8)
			}
			if passed > 2 { // one of 65,536 by chance
				t.Errorf("%s, %d bytes: %d flips pass for another identification", name, n, passed)
			}
		}
	}
}

func TestCheckIdentifications(t *testing.T) {
	path := paths["IPv4"]
	h := bth.Packet{Opcode: bth.SendOnly}
	for id := range 1 << 16 {
		b := append(h.AppendHeaders(nil, 8), "12345678"...)
		b = path.AppendSum(b, 0, uint16(id))
		if got, ok := path.Check(b); !ok || int(got) != id {
			t.Fatalf("found %d, %v; want %d", got, ok, id)
		}
	}
}

// TestWaits checks some values of IBTA table 45.
func TestWaits(t *testing.T) {
	for code, want := range map[bth.Syndrome]time.Duration{
		0: 655360 * time.Microsecond, 1: 10 * time.Microsecond, 5: 60 * time.Microsecond,
		12: 640 * time.Microsecond, 20: 10240 * time.Microsecond, 31: 491520 * time.Microsecond,
	} {
		if got := (bth.RNR | code).Wait(); got != want {
			t.Errorf("code %d: %v, want %v", code, got, want)
		}
		if got := bth.RNRAfter(want); got != bth.RNR|code {
			t.Errorf("RNRAfter(%v) is %v", want, got)
		}
	}
	for s, want := range map[bth.Syndrome][3]bool{ // ACK, RNR, NAK
		0x00: {true}, 0x1F: {true}, 0x20: {false, true}, 0x3F: {false, true}, 0x40: {}, 0x60: {2: true},
		0x63: {2: true}, 0x80: {}, 0xE0: {},
	} {
		if got := [3]bool{s.IsACK(), s.IsRNR(), s.IsNAK()}; got != want {
			t.Errorf("syndrome %#x: ACK, RNR, NAK %v, want %v", uint8(s), got, want)
		}
	}
}

// FuzzParse: a parsed packet, encoded and parsed again, is the same.
func FuzzParse(f *testing.F) {
	for _, tt := range goldens {
		b, _ := hex.DecodeString(tt.want)
		f.Add(append(b, 0, 0, 0, 0))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		path := paths["IPv4"]
		path.Check(b)
		h, err := bth.Parse(b)
		if err != nil {
			return
		}
		again := append(h.AppendHeaders(nil, len(h.Payload)), h.Payload...)
		again = append(again, make([]byte, bth.Pad(len(h.Payload))+bth.ICRCLen)...)
		if len(again) != h.Len(len(h.Payload)) {
			t.Fatalf("%d bytes, and Len is %d", len(again), h.Len(len(h.Payload)))
		}
		h2, err := bth.Parse(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(h, h2); diff != "" {
			t.Fatal(diff)
		}
	})
}

func BenchmarkCheck(b *testing.B) {
	path := paths["IPv4"]
	h := bth.Packet{Opcode: bth.WriteMiddle}
	p := append(h.AppendHeaders(nil, 4096), make([]byte, 4096)...)
	p = path.AppendSum(p, 0, 7)
	b.SetBytes(4096)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := path.Check(p); !ok {
			b.Fatal("wrong ICRC")
		}
	}
}
