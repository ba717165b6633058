package rdmap

import (
	"fmt"
	"testing"
)

// siwForm encodes a control field like siw's C bit fields on a little-endian machine: from the
// lowest bit of the word up, layer:4, type:4, code:8, M, D, R.
func siwForm(code Code, m, d, r bool) [3]byte {
	word := uint32(code>>12) | uint32(code>>8&0xf)<<4 | uint32(code&0xff)<<8
	for i, set := range []bool{m, d, r} {
		if set {
			word |= 1 << (16 + i)
		}
	}
	return [3]byte{byte(word), byte(word >> 8), byte(word >> 16)}
}

// rfcForm encodes it like the figure of RFC 5040 section 4.8: from the highest bit down.
func rfcForm(code Code, m, d, r bool) [3]byte {
	word := uint32(code) << 16
	for i, set := range []bool{m, d, r} {
		if set {
			word |= 1 << (15 - i)
		}
	}
	return [3]byte{byte(word >> 24), byte(word >> 16), byte(word >> 8)}
}

func TestForms(t *testing.T) {
	for _, tt := range []struct {
		got, want [3]byte
	}{
		{rfcForm(MPARTR, false, false, false), [3]byte{0x20, 0x07, 0x00}},
		{siwForm(MPARTR, false, false, false), [3]byte{0x02, 0x07, 0x00}},
		{rfcForm(UntaggedTooLong, true, true, false), [3]byte{0x12, 0x05, 0xc0}},
		{siwForm(UntaggedTooLong, true, true, false), [3]byte{0x21, 0x05, 0x03}},
		{rfcForm(ProtectionSTag, true, true, true), [3]byte{0x01, 0x00, 0xe0}},
		{siwForm(ProtectionSTag, true, true, true), [3]byte{0x10, 0x00, 0x07}},
	} {
		if tt.got != tt.want {
			t.Errorf("got % x, want % x", tt.got, tt.want)
		}
	}
}

// TestParseControlField encodes every defined code with every set of flags in both forms. With a
// flag, all are understood. Without flags, all are except those listed.
func TestParseControlField(t *testing.T) {
	// Without flags, these bytes stand for another code in the other form, which is more likely.
	rfcLost := map[Code]Code{
		OperationVersion: MPACatastrophic, // 02 05
		OperationOpcode:  MPAIRD,          // 02 06
		OperationStream:  MPARTR,          // 02 07
	}
	siwLost := map[Code]Code{
		DDPCatastrophic:  ProtectionSTag,  // 01 00
		ProtectionSTag:   DDPCatastrophic, // 10 00
		OperationVersion: MPACatastrophic, // 20 05
		OperationOpcode:  MPAIRD,          // 20 06
		OperationStream:  MPARTR,          // 20 07
	}
	all := []Code{RDMAPCatastrophic, 0x00ff}
	for code := range codes {
		all = append(all, code)
	}
	if got, want := len(all), 2+13+1+5+6+7; got != want {
		t.Fatalf("got %d codes, want %d", got, want)
	}
	for _, code := range all {
		for bits := range 8 {
			m, d, r := bits&1 != 0, bits&2 != 0, bits&4 != 0
			wantFlags := flags(0)
			if m {
				wantFlags |= flagM
			}
			if d {
				wantFlags |= flagD
			}
			if r {
				wantFlags |= flagR
			}
			name := fmt.Sprintf("%#04x, M %v, D %v, R %v", uint16(code), m, d, r)

			wantCode, wantSwapped := code, false
			if other, lost := rfcLost[code]; lost && bits == 0 {
				wantCode, wantSwapped = other, true
			}
			b := rfcForm(code, m, d, r)
			gotCode, gotFlags, swapped := parseControlField(b[0], b[1], b[2])
			if gotCode != wantCode || gotFlags != wantFlags || swapped != wantSwapped {
				t.Errorf("RFC's %s: got %#04x, flags %#02x, swapped %v, want %#04x, %#02x, %v",
					name, uint16(gotCode), gotFlags, swapped, uint16(wantCode), wantFlags, wantSwapped)
			}

			// If layer and type are equal and no flag is set, the forms do not differ.
			wantCode, wantSwapped = code, bits != 0 || code>>12 != code>>8&0xf
			if other, lost := siwLost[code]; lost && bits == 0 {
				wantCode, wantSwapped = other, false
			}
			b = siwForm(code, m, d, r)
			gotCode, gotFlags, swapped = parseControlField(b[0], b[1], b[2])
			if gotCode != wantCode || gotFlags != wantFlags || swapped != wantSwapped {
				t.Errorf("siw's %s: got %#04x, flags %#02x, swapped %v, want %#04x, %#02x, %v",
					name, uint16(gotCode), gotFlags, swapped, uint16(wantCode), wantFlags, wantSwapped)
			}
		}
	}
}

func TestParseControlFieldOdd(t *testing.T) {
	for _, tt := range []struct {
		name    string
		in      [3]byte
		code    Code
		flags   flags
		swapped bool
	}{
		{"undefined in both forms", [3]byte{0x34, 0x05, 0x00}, 0x3405, 0, false},
		{"undefined, with flags", [3]byte{0x34, 0x05, 0x40}, 0x3405, flagD, false},
		{"undefined, with siw's flags", [3]byte{0x34, 0x05, 0x02}, 0x4305, flagD, true},
		{"reserved bits beside flags", [3]byte{0x12, 0x05, 0xdf}, UntaggedTooLong, flagM | flagD, false},
		{"reserved bits of both forms", [3]byte{0x12, 0x05, 0x18}, UntaggedTooLong, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, f, swapped := parseControlField(tt.in[0], tt.in[1], tt.in[2])
			if code != tt.code || f != tt.flags || swapped != tt.swapped {
				t.Errorf("got %#04x, flags %#02x, swapped %v, want %#04x, %#02x, %v",
					uint16(code), f, swapped, uint16(tt.code), tt.flags, tt.swapped)
			}
		})
	}
}
