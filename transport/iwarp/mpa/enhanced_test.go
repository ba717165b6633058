package mpa

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestEnhancedData(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     EnhancedData
	}{
		{"zero", "0000 0000", EnhancedData{}},
		{"A", "8000 0000", EnhancedData{PeerToPeer: true}},
		{"B", "4000 0000", EnhancedData{RTR: RTRSend}},
		{"C", "0000 8000", EnhancedData{RTR: RTRWrite}},
		{"D", "0000 4000", EnhancedData{RTR: RTRRead}},
		{"IRD", "0102 0000", EnhancedData{IRD: 0x102}},
		{"ORD", "0000 0102", EnhancedData{ORD: 0x102}},
		{"largest", "3ffe 3ffe", EnhancedData{IRD: MaxReads, ORD: MaxReads}},
		{"manual", "3fff 3fff", EnhancedData{IRD: ReadsManual, ORD: ReadsManual}},
		{"all", "ffff ffff", EnhancedData{PeerToPeer: true, RTR: RTRSend | RTRWrite | RTRRead, IRD: 0x3fff, ORD: 0x3fff}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := unhex(t, tt.in)
			got, rest, err := ParseEnhancedData(append(in[:4:4], "rest"...))
			if err != nil || string(rest) != "rest" {
				t.Fatalf("got rest %q, %v", rest, err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("ParseEnhancedData (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(in, tt.want.Append(nil)); diff != "" {
				t.Errorf("Append (-want +got):\n%s", diff)
			}
			for i := range in {
				if _, _, err := ParseEnhancedData(in[:i]); !errors.Is(err, ErrFrame) {
					t.Errorf("%d bytes: got %v, want ErrFrame", i, err)
				}
			}
		})
	}
}

func TestEnhancedDataRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "b")
		d, _, err := ParseEnhancedData(b)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(b, d.Append(nil)); diff != "" {
			t.Fatalf("appended again (-want +got):\n%s", diff)
		}
	})
}

func TestRTRString(t *testing.T) {
	for _, tt := range []struct {
		in   RTR
		want string
	}{
		{0, "none"}, {RTRSend, "send"}, {RTRWrite, "write"}, {RTRRead, "read"},
		{RTRSend | RTRRead, "send|read"}, {RTRSend | RTRWrite | RTRRead, "send|write|read"}, {RTRWrite | 0x80, "write|unknown"},
	} {
		if got := tt.in.String(); got != tt.want {
			t.Errorf("%#x: got %q, want %q", uint8(tt.in), got, tt.want)
		}
	}
}
