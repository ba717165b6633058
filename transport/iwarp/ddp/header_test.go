package ddp_test

import (
	"encoding/hex"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

var headers = []struct {
	name string
	h    ddp.Header
	wire string
}{
	{
		name: "tagged",
		h: ddp.Header{
			Tagged: true, Version: ddp.Version, Control: 0x42,
			STag: 0x01020304, Offset: 0x05060708090a0b0c,
		},
		wire: "81" + "42" + "01020304" + "05060708090a0b0c",
	},
	{
		name: "tagged, last",
		h:    ddp.Header{Tagged: true, Last: true, Version: ddp.Version, Control: 0x40},
		wire: "c1" + "40" + "00000000" + "0000000000000000",
	},
	{
		name: "untagged",
		h: ddp.Header{
			Version: ddp.Version, Control: 0x44, ULP: 0x01020304,
			Queue: 0x11121314, MSN: 0x21222324, MO: 0x31323334,
		},
		wire: "01" + "44" + "01020304" + "11121314" + "21222324" + "31323334",
	},
	{
		name: "untagged, last",
		h:    ddp.Header{Last: true, Version: ddp.Version, Control: 0x47, Queue: ddp.QueueTerminate, MSN: 1},
		wire: "41" + "47" + "00000000" + "00000002" + "00000001" + "00000000",
	},
	{
		name: "another version",
		h:    ddp.Header{Last: true, Version: 2},
		wire: "42" + "00" + "00000000" + "00000000" + "00000000" + "00000000",
	},
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestHeader(t *testing.T) {
	for _, tt := range headers {
		t.Run(tt.name, func(t *testing.T) {
			want := unhex(t, tt.wire)
			got := tt.h.Append([]byte("prefix"))
			if diff := cmp.Diff("prefix"+string(want), string(got)); diff != "" {
				t.Errorf("Append (-want +got):\n%s", diff)
			}
			if got := tt.h.Len(); got != len(want) {
				t.Errorf("Len: got %d, want %d", got, len(want))
			}
			h, payload, err := ddp.Parse(append(want, "payload"...))
			if err != nil {
				t.Fatalf("Parse: %v", err)
			}
			if diff := cmp.Diff(tt.h, h); diff != "" {
				t.Errorf("Parse (-want +got):\n%s", diff)
			}
			if string(payload) != "payload" {
				t.Errorf("payload: got %q, want %q", payload, "payload")
			}
			for n := range want {
				h, payload, err := ddp.Parse(want[:n])
				if !errors.Is(err, ddp.ErrShort) || h != (ddp.Header{}) || payload != nil {
					t.Errorf("the first %d bytes: got %+v, %x, %v, want ErrShort", n, h, payload, err)
				}
			}
		})
	}
}

func TestParseIgnoresReservedBits(t *testing.T) {
	for _, tt := range headers {
		b := unhex(t, tt.wire)
		b[0] |= 0x3c
		got, _, err := ddp.Parse(b)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if diff := cmp.Diff(tt.h, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestAppendKeepsVersionInItsBits(t *testing.T) {
	h := ddp.Header{Version: 0xff}
	if got, want := h.Append(nil)[0], byte(0x03); got != want {
		t.Errorf("control octet: got %#02x, want %#02x", got, want)
	}
}

func TestPayloadAliasesSegment(t *testing.T) {
	segment := append(unhex(t, headers[0].wire), "payload"...)
	_, payload, err := ddp.Parse(segment)
	if err != nil {
		t.Fatal(err)
	}
	if &payload[0] != &segment[ddp.TaggedLen] {
		t.Error("the payload is a copy")
	}
}

func TestNoAllocation(t *testing.T) {
	segment := unhex(t, headers[2].wire)
	b := make([]byte, 0, ddp.UntaggedLen)
	got := testing.AllocsPerRun(100, func() {
		h, _, err := ddp.Parse(segment)
		if err != nil {
			t.Fatal(err)
		}
		b = h.Append(b[:0])
	})
	if got != 0 {
		t.Errorf("got %v allocations, want 0", got)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := ddp.Header{
			Last:    rapid.Bool().Draw(t, "last"),
			Version: rapid.Uint8Range(0, 3).Draw(t, "version"),
			Control: rapid.Byte().Draw(t, "control"),
		}
		if rapid.Bool().Draw(t, "tagged") {
			want.Tagged = true
			want.STag = transport.STag(rapid.Uint32().Draw(t, "stag"))
			want.Offset = rapid.Uint64().Draw(t, "offset")
		} else {
			want.ULP = rapid.Uint32().Draw(t, "ulp")
			want.Queue = rapid.Uint32().Draw(t, "queue")
			want.MSN = rapid.Uint32().Draw(t, "msn")
			want.MO = rapid.Uint32().Draw(t, "mo")
		}
		got, payload, err := ddp.Parse(want.Append(nil))
		if err != nil || len(payload) != 0 {
			t.Fatalf("got payload %x, error %v", payload, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("header (-want +got):\n%s", diff)
		}
	})
}
