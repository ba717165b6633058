package rdmap

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// draft05s are the codes that differ in draft-ietf-storm-mpa-peer-connect-05 section 8.
var draft05s = []struct {
	wire string
	code Code // RFC 6581's
}{
	{"23050000", MPACatastrophic},
	{"23060000", MPAIRD},
	{"23070000", MPARTR},
}

func TestDraft05(t *testing.T) {
	for _, tt := range draft05s {
		t.Run(tt.wire, func(t *testing.T) {
			wire := unhex(t, tt.wire)
			want := Terminate{Code: tt.code, Draft05: true}
			got, err := ParseTerminate(wire)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ParseTerminate (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(wire, want.Append(nil)); diff != "" {
				t.Errorf("Append (-want +got):\n%s", diff)
			}
			if got := want.Len(); got != len(wire) {
				t.Errorf("Len: got %d, want %d", got, len(wire))
			}
			for n := range wire {
				if got, err := ParseTerminate(wire[:n]); !errors.Is(err, ErrShort) {
					t.Errorf("the first %d bytes: got %+v, %v, want ErrShort", n, got, err)
				}
			}
			// Without the option, the form is that of the RFC.
			want.Draft05 = false
			if got, rfc := want.Append(nil), append([]byte{0x20}, wire[1:]...); string(got) != string(rfc) {
				t.Errorf("Append of the RFC's: got % x, want % x", got, rfc)
			}
		})
	}
}

// The draft's form is also understood with copies of a segment, though nobody sends these about the
// setup.
func TestDraft05Copies(t *testing.T) {
	wire := unhex(t, "2307c000"+"0112"+sendHex)
	want := Terminate{Code: MPARTR, HasLength: true, Length: 274, DDPHeader: unhex(t, sendHex), Draft05: true}
	got, err := ParseTerminate(wire)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseTerminate (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wire, got.Append(nil)); diff != "" {
		t.Errorf("Append (-want +got):\n%s", diff)
	}
}

// The dialect changes three codes only.
func TestDraft05LeavesOthers(t *testing.T) {
	for code := range codes {
		if code >= MPACatastrophic && code <= MPARTR {
			continue
		}
		rfc, draft := Terminate{Code: code}, Terminate{Code: code, Draft05: true}
		if diff := cmp.Diff(rfc.Append(nil), draft.Append(nil)); diff != "" {
			t.Errorf("%#04x (-RFC +draft):\n%s", uint16(code), diff)
		}
	}
}

// TestDraft05Only has codes that look like those of the draft, but are not.
func TestDraft05Only(t *testing.T) {
	for _, code := range []Code{
		0x2301, 0x2302, 0x2303, 0x2304, // RFC 5044's own codes have type 0 in the draft, too
		0x2308, 0x23ff,
		0x2107, 0x2206, 0x2407, 0x2f07, // other types
		0x0305, 0x0306, 0x1305, 0x1307, 0x3305, 0xf307, // other layers
		0x2005, 0x2006, 0x2007,
	} {
		t.Run(fmt.Sprintf("%04x", uint16(code)), func(t *testing.T) {
			got, err := ParseTerminate([]byte{byte(code >> 8), byte(code), 0, 0})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(Terminate{Code: code}, got); diff != "" {
				t.Errorf("ParseTerminate (-want +got):\n%s", diff)
			}
		})
	}
}

// The forms of siw and of the RFC are never taken for the draft's.
func TestDraft05AndForms(t *testing.T) {
	for code := range codes {
		for bits := range 8 {
			m, d, r := bits&1 != 0, bits&2 != 0, bits&4 != 0
			for _, form := range [][3]byte{rfcForm(code, m, d, r), siwForm(code, m, d, r)} {
				wire := append(form[:], 0)
				wire = append(wire, unhex(t, "002e"+readHex+readRequestHex)...)
				got, err := ParseTerminate(wire)
				if err != nil && !errors.Is(err, ErrShort) { // what follows fits only some flags
					t.Fatal(err)
				}
				if got.Draft05 {
					t.Errorf("% x: got %+v, which is the draft's", form, got)
				}
			}
		}
	}
}

// The error of a Terminate does not depend on the dialect.
func TestDraft05Err(t *testing.T) {
	for _, tt := range draft05s {
		got, err := ParseTerminate(unhex(t, tt.wire))
		if err != nil {
			t.Fatal(err)
		}
		rfc := Terminate{Code: tt.code}
		if got, want := got.Err(true).Error(), rfc.Err(true).Error(); got != want {
			t.Errorf("%s: got %q, want %q", tt.wire, got, want)
		}
	}
}
