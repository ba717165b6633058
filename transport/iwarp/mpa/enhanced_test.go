package mpa_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

func TestEnhancedData(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     mpa.EnhancedData
	}{
		{"zero", "0000 0000", mpa.EnhancedData{}},
		{"A", "8000 0000", mpa.EnhancedData{PeerToPeer: true}},
		{"B", "4000 0000", mpa.EnhancedData{RTR: mpa.RTRSend}},
		{"C", "0000 8000", mpa.EnhancedData{RTR: mpa.RTRWrite}},
		{"D", "0000 4000", mpa.EnhancedData{RTR: mpa.RTRRead}},
		{"IRD", "0102 0000", mpa.EnhancedData{IRD: 0x102}},
		{"ORD", "0000 0102", mpa.EnhancedData{ORD: 0x102}},
		{"largest", "3ffe 3ffe", mpa.EnhancedData{IRD: mpa.MaxReads, ORD: mpa.MaxReads}},
		{"manual", "3fff 3fff", mpa.EnhancedData{IRD: mpa.ReadsManual, ORD: mpa.ReadsManual}},
		{"all", "ffff ffff", mpa.EnhancedData{PeerToPeer: true, RTR: mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead, IRD: 0x3fff, ORD: 0x3fff}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := unhex(t, tt.in)
			got, rest, err := mpa.ParseEnhancedData(append(in[:4:4], "rest"...))
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
				if _, _, err := mpa.ParseEnhancedData(in[:i]); !errors.Is(err, mpa.ErrFrame) {
					t.Errorf("%d bytes: got %v, want ErrFrame", i, err)
				}
			}
		})
	}
}

func TestEnhancedDataRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "b")
		d, _, err := mpa.ParseEnhancedData(b)
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
		in   mpa.RTR
		want string
	}{
		{0, "none"}, {mpa.RTRSend, "send"}, {mpa.RTRWrite, "write"}, {mpa.RTRRead, "read"},
		{mpa.RTRSend | mpa.RTRRead, "send|read"}, {mpa.RTRSend | mpa.RTRWrite | mpa.RTRRead, "send|write|read"}, {mpa.RTRWrite | 0x80, "write|unknown"},
	} {
		if got := tt.in.String(); got != tt.want {
			t.Errorf("%#x: got %q, want %q", uint8(tt.in), got, tt.want)
		}
	}
}
