package rdmap

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// Headers of segments at fault.
const (
	writeHex      = "c140" + "00001234" + "0000000000005000"
	sendHex       = "4143" + "00000000" + "00000000" + "00000007" + "00000000"
	invalidateHex = "4144" + "00001234" + "00000000" + "00000007" + "00000000"
	readHex       = "4141" + "00000000" + "00000001" + "00000003" + "00000000"
)

// terminates are messages as on the wire. Those of siw are marked as swapped; they differ in the
// control field only.
var terminates = []struct {
	name string
	wire string
	want func(t testing.TB) Terminate
}{
	{
		name: "LLP error",
		wire: "20070000",
		want: func(testing.TB) Terminate { return Terminate{Code: MPARTR} },
	},
	{
		name: "LLP error, siw",
		wire: "02070000",
		want: func(testing.TB) Terminate { return Terminate{Code: MPARTR, Swapped: true} },
	},
	{
		name: "local catastrophic error, siw",
		wire: "00ff0000",
		want: func(testing.TB) Terminate { return Terminate{Code: 0x00ff} },
	},
	{
		name: "length alone",
		wire: "12058000" + "0009",
		want: func(testing.TB) Terminate { return Terminate{Code: UntaggedTooLong, HasLength: true, Length: 9} },
	},
	{
		name: "tagged",
		wire: "1101c000" + "040e" + writeHex,
		want: func(t testing.TB) Terminate {
			return Terminate{Code: TaggedBounds, HasLength: true, Length: 1038, DDPHeader: unhex(t, writeHex)}
		},
	},
	{
		name: "tagged, siw",
		wire: "11010300" + "0400" + writeHex,
		want: func(t testing.TB) Terminate {
			return Terminate{
				Code: TaggedBounds, HasLength: true, Length: 1024, DDPHeader: unhex(t, writeHex), Swapped: true,
			}
		},
	},
	{
		name: "untagged",
		wire: "1202c000" + "0112" + sendHex,
		want: func(t testing.TB) Terminate {
			return Terminate{Code: UntaggedNoBuffer, HasLength: true, Length: 274, DDPHeader: unhex(t, sendHex)}
		},
	},
	{
		name: "length not valid",
		wire: "12024000" + "0112" + sendHex,
		want: func(t testing.TB) Terminate {
			return Terminate{Code: UntaggedNoBuffer, Length: 274, DDPHeader: unhex(t, sendHex)}
		},
	},
	{
		name: "read request",
		wire: "0100e000" + "002e" + readHex + readRequestHex,
		want: func(t testing.TB) Terminate {
			return Terminate{
				Code: ProtectionSTag, HasLength: true, Length: 46,
				DDPHeader: unhex(t, readHex), RDMAPHeader: unhex(t, readRequestHex),
			}
		},
	},
	{
		name: "read request, siw",
		wire: "10000700" + "0000" + readHex + readRequestHex,
		want: func(t testing.TB) Terminate {
			return Terminate{
				Code: ProtectionSTag, HasLength: true, Swapped: true,
				DDPHeader: unhex(t, readHex), RDMAPHeader: unhex(t, readRequestHex),
			}
		},
	},
	{
		name: "RDMAP header alone",
		wire: "01002000" + readRequestHex,
		want: func(t testing.TB) Terminate {
			return Terminate{Code: ProtectionSTag, RDMAPHeader: unhex(t, readRequestHex)}
		},
	},
}

// asSent returns a message as we would send it: its control field in the RFC's form, not siw's.
func asSent(t testing.TB, wire string) []byte {
	b := unhex(t, wire)
	if b[2]&0x07 != 0 || b[0] == 0x02 {
		b[0] = b[0]<<4 | b[0]>>4
		b[2] = b[2]&1<<7 | b[2]&2<<5 | b[2]&4<<3
	}
	return b
}

func TestTerminate(t *testing.T) {
	for _, tt := range terminates {
		t.Run(tt.name, func(t *testing.T) {
			wire, want := unhex(t, tt.wire), tt.want(t)
			got, err := ParseTerminate(append(wire, 0xee)) // bytes after it do not matter
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("ParseTerminate (-want +got):\n%s", diff)
			}
			sent := asSent(t, tt.wire)
			if got := want.Append([]byte("prefix")); string(got) != "prefix"+string(sent) {
				t.Errorf("Append: got % x, want % x behind the prefix", got, sent)
			}
			if got := want.Len(); got != len(sent) || got > TerminateMaxLen {
				t.Errorf("Len: got %d, want %d, at most %d", got, len(sent), TerminateMaxLen)
			}
			for n := range wire {
				got, err := ParseTerminate(wire[:n])
				if !errors.Is(err, ErrShort) {
					t.Errorf("the first %d bytes: got %v, want ErrShort", n, err)
				}
				if n < 4 && got.Code != 0 || n >= 4 && got.Code != want.Code {
					t.Errorf("the first %d bytes: got code %#04x", n, uint16(got.Code))
				}
			}
		})
	}
}

// siw announces an RDMAP header for Sends too, and sends none.
func TestTerminateOfSendBySiw(t *testing.T) {
	got, err := ParseTerminate(unhex(t, "10090700"+"0100"+invalidateHex))
	if err != nil {
		t.Fatal(err)
	}
	want := Terminate{
		Code: ProtectionInvalidate, HasLength: true, Length: 256, DDPHeader: unhex(t, invalidateHex), Swapped: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseTerminate (-want +got):\n%s", diff)
	}
}

func TestParseTerminateIgnoresReservedBits(t *testing.T) {
	got, err := ParseTerminate(unhex(t, "1202dfff"+"0112"+sendHex))
	if err != nil {
		t.Fatal(err)
	}
	want := Terminate{Code: UntaggedNoBuffer, HasLength: true, Length: 274, DDPHeader: unhex(t, sendHex)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ParseTerminate (-want +got):\n%s", diff)
	}
}

func TestForSegment(t *testing.T) {
	const payload = "aabbccdd"
	for _, tt := range []struct {
		name    string
		code    Code
		segment string
		want    string // the message
	}{
		{"write", TaggedSTag, writeHex + payload, "1100c000" + "0012" + writeHex},
		{"write of no bytes", TaggedBounds, writeHex, "1101c000" + "000e" + writeHex},
		{"send", UntaggedNoBuffer, sendHex + payload, "1202c000" + "0016" + sendHex},
		{"send with invalidate", ProtectionInvalidate, invalidateHex, "0109c000" + "0012" + invalidateHex},
		{"read request", ProtectionAccess, readHex + readRequestHex, "0102e000" + "002e" + readHex + readRequestHex},
		{"read request, DDP error", UntaggedNoBuffer, readHex + readRequestHex,
			"1202e000" + "002e" + readHex + readRequestHex},
		{"read request, more payload", UntaggedTooLong, readHex + readRequestHex + payload,
			"1205e000" + "0032" + readHex + readRequestHex},
		{"read request, cut short", ProtectionAccess, readHex + payload, "0102c000" + "0016" + readHex},
		{"read request, second segment", UntaggedMO, readHex[:34] + "04" + readRequestHex,
			"1204c000" + "002e" + readHex[:34] + "04"},
		{"read request, tagged", OperationOpcode, "c141" + writeHex[4:] + readRequestHex,
			"0206c000" + "002a" + "c141" + writeHex[4:]},
		{"unknown opcode", OperationOpcode, "414f" + sendHex[4:], "0206c000" + "0012" + "414f" + sendHex[4:]},
		{"RDMAP version", OperationVersion, "4181" + readHex[4:] + readRequestHex,
			"0205c000" + "002e" + "4181" + readHex[4:]},

		{"DDP version, tagged", TaggedVersion, "c2" + writeHex[2:], "11040000"},
		{"DDP version, untagged", UntaggedVersion, "42" + sendHex[2:], "12060000"},
		{"shorter than a tagged header", TaggedSTag, writeHex[2:], "11000000"},
		{"shorter than an untagged header", UntaggedMO, sendHex[2:], "12040000"},
		{"no segment", DDPCatastrophic, "", "10000000"},
		{"local catastrophic, RDMAP", RDMAPCatastrophic, sendHex, "00000000"},
		{"local catastrophic, DDP", DDPCatastrophic, sendHex, "10000000"},
		{"LLP", MPACRC, sendHex, "20020000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := TerminateForSegment(tt.code, unhex(t, tt.segment))
			if diff := cmp.Diff(unhex(t, tt.want), got.Append(nil)); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// A segment too long for any LLP has a length that does not fit the field.
func TestForSegmentTooLong(t *testing.T) {
	segment := append(unhex(t, sendHex), make([]byte, 1<<16)...)
	if diff := cmp.Diff(Terminate{Code: UntaggedMO}, TerminateForSegment(UntaggedMO, segment)); diff != "" {
		t.Errorf("terminate (-want +got):\n%s", diff)
	}
}

// TestTerminateRoundTrip builds messages from any segment. Those with copies are always understood;
// for the others, see TestParseControlField.
func TestTerminateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := ddp.Header{
			Tagged:  rapid.Bool().Draw(t, "tagged"),
			Last:    rapid.Bool().Draw(t, "last"),
			Version: ddp.Version,
			Control: rapid.Byte().Draw(t, "control"),
		}
		payload := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "payload")
		want := TerminateForSegment(Code(rapid.Uint16().Draw(t, "code")), append(h.Append(nil), payload...))
		if !want.HasLength {
			t.Skip("no copies")
		}
		got, err := ParseTerminate(want.Append(nil))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("terminate (-want +got):\n%s", diff)
		}
	})
}
