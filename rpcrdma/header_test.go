package rpcrdma_test

import (
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// headers are headers and their encoding (draft section 4.3).
var headers = []struct {
	name string
	hex  string
	want rpcrdma.Header
}{
	{
		name: "RDMA_MSG, no chunks",
		hex:  "798ba1e8 00000001 00000080 00000000 00000000 00000000 00000000",
		want: rpcrdma.Header{XID: 0x798ba1e8, Version: 1, Credits: 128, Type: rpcrdma.TypeMsg},
	},
	{
		name: "RDMA_MSG, read list",
		hex: `9b8ba1e8 00000001 00000080 00000000
			00000001 00000070 908af803 00010d43 9b8ba1e8 88f44000 00000000
			00000000 00000000`,
		want: rpcrdma.Header{
			XID: 0x9b8ba1e8, Version: 1, Credits: 128, Type: rpcrdma.TypeMsg,
			Lists: chunks.Lists{Reads: []chunks.ReadSegment{{
				Position: 0x70,
				Segment:  chunks.Segment{Handle: 0x908af803, Length: 68931, Offset: 0x9b8ba1e8_88f44000},
			}}},
		},
	},
	{
		name: "RDMA_NOMSG, all lists",
		hex: `00000007 00000001 00000040 00000001
			00000001 00000000 00000001 00001000 00000000 00010000
			00000001 0000002c 00000002 00002000 00000000 00020000
			00000000
			00000001 00000001 00000003 00003000 00000000 00030000
			00000000
			00000001 00000002 00000004 00004000 00000000 00040000 00000005 00005000 00000000 00050000`,
		want: rpcrdma.Header{
			XID: 7, Version: 1, Credits: 64, Type: rpcrdma.TypeNoMsg,
			Lists: chunks.Lists{
				Reads: []chunks.ReadSegment{
					{Position: 0, Segment: chunks.Segment{Handle: 1, Length: 0x1000, Offset: 0x10000}},
					{Position: 44, Segment: chunks.Segment{Handle: 2, Length: 0x2000, Offset: 0x20000}},
				},
				Writes: []chunks.WriteChunk{{{Handle: 3, Length: 0x3000, Offset: 0x30000}}},
				Reply: chunks.WriteChunk{
					{Handle: 4, Length: 0x4000, Offset: 0x40000},
					{Handle: 5, Length: 0x5000, Offset: 0x50000},
				},
				HasReply: true,
			},
		},
	},
	{
		name: "RDMA_MSGP",
		hex: `00000008 00000001 00000020 00000002
			00001000 00000400
			00000001 00000000 00000001 00001000 00000000 00010000 00000000
			00000000 00000000`,
		want: rpcrdma.Header{
			XID: 8, Version: 1, Credits: 32, Type: rpcrdma.TypeMsgP, Align: 4096, Threshold: 1024,
			Lists: chunks.Lists{Reads: []chunks.ReadSegment{
				{Segment: chunks.Segment{Handle: 1, Length: 0x1000, Offset: 0x10000}},
			}},
		},
	},
	{
		name: "RDMA_DONE",
		hex:  "00000009 00000001 00000020 00000003",
		want: rpcrdma.Header{XID: 9, Version: 1, Credits: 32, Type: rpcrdma.TypeDone},
	},
	{
		name: "RDMA_ERROR, ERR_VERS",
		hex:  "0000000a 00000001 00000020 00000004 00000001 00000001 00000001",
		want: rpcrdma.Header{XID: 10, Version: 1, Credits: 32, Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers, Low: 1, High: 1},
	},
	{
		name: "RDMA_ERROR, ERR_VERS, of several versions",
		hex:  "0000000a 00000001 00000020 00000004 00000001 00000001 00000003",
		want: rpcrdma.Header{
			XID: 10, Version: 1, Credits: 32,
			Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers, Low: 1, High: 3,
		},
	},
	{
		name: "RDMA_ERROR, ERR_VERS, of the version that was asked for", // as svcrdma does
		hex:  "0000000a 00000002 00000020 00000004 00000001 00000001 00000001",
		want: rpcrdma.Header{XID: 10, Version: 2, Credits: 32, Type: rpcrdma.TypeError, Err: rpcrdma.ErrVers, Low: 1, High: 1},
	},
	{
		name: "RDMA_ERROR, ERR_CHUNK",
		hex:  "0000000b 00000001 00000020 00000004 00000002",
		want: rpcrdma.Header{XID: 11, Version: 1, Credits: 32, Type: rpcrdma.TypeError, Err: rpcrdma.ErrChunk},
	},
	{
		name: "RDMA_ERROR, another code: rdma_extra[8]",
		hex: `0000000c 00000001 00000020 00000004 00000003
			00000011 00000022 00000033 00000044 00000055 00000066 00000077 00000088`,
		want: rpcrdma.Header{
			XID: 12, Version: 1, Credits: 32, Type: rpcrdma.TypeError, Err: 3,
			Extra: [8]uint32{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88},
		},
	},
	{
		name: "RDMA_ERROR, code 0: rdma_extra[8]",
		hex: `0000000d 00000001 00000020 00000004 00000000
			00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000001`,
		want: rpcrdma.Header{XID: 13, Version: 1, Credits: 32, Type: rpcrdma.TypeError, Extra: [8]uint32{7: 1}},
	},
}

// sameHeader compares what the wire shows of two headers.
var sameHeader = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(chunks.Lists{})}

func TestHeaderGolden(t *testing.T) {
	var reused rpcrdma.Header
	for _, tt := range headers {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			if diff := cmp.Diff(b, tt.want.Append(nil)); diff != "" {
				t.Errorf("encoded (-want +got):\n%s", diff)
			}
			if n := tt.want.Len(); n != len(b) {
				t.Errorf("Len() = %d, encoded %d", n, len(b))
			}
			// Bytes after the header are ignored, and nothing of the previous header is left in h.
			for _, h := range []*rpcrdma.Header{{}, &reused} {
				n, err := h.Parse(append(b[:len(b):len(b)], "message"...))
				if err != nil || n != len(b) {
					t.Errorf("Parse() = %d, %v, want %d", n, err, len(b))
				}
				if diff := cmp.Diff(tt.want, *h, sameHeader); diff != "" {
					t.Errorf("parsed (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestHeaderTruncated(t *testing.T) {
	for _, tt := range headers {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			for i := range b {
				var h rpcrdma.Header
				n, err := h.Parse(b[:i])
				want := rpcrdma.ErrMalformed
				if i < chunks.FixedLen {
					want = rpcrdma.ErrShort
				}
				if !errors.Is(err, want) || n != 0 {
					t.Fatalf("first %d of %d bytes: %d, error %v, want %v", i, len(b), n, err, want)
				}
				// The answer to a malformed header needs its fixed words.
				if want == rpcrdma.ErrMalformed && (h.XID != tt.want.XID || h.Credits != tt.want.Credits || h.Type != tt.want.Type) {
					t.Fatalf("first %d of %d bytes: fixed words are %+v", i, len(b), h)
				}
			}
		})
	}
}

func TestHeaderRefused(t *testing.T) {
	tests := []struct {
		name string
		hex  string
		want error
	}{
		{"version 0", "00000001 00000000 00000020 00000000 00000000 00000000 00000000", rpcrdma.ErrVersion},
		{"version 2", "00000001 00000002 00000020 00000000 00000000 00000000 00000000", rpcrdma.ErrVersion},
		{"version 2, nothing else understood", "00000001 00000002 00000020 00000063", rpcrdma.ErrVersion},
		{"version 2, RDMA_DONE", "00000001 00000002 00000020 00000003", rpcrdma.ErrVersion},
		{"rdma_proc 5", "00000001 00000001 00000020 00000005 00000000 00000000 00000000", rpcrdma.ErrMalformed},
		{"rdma_proc 2^32-1", "00000001 00000001 00000020 ffffffff", rpcrdma.ErrMalformed},
		{"read list neither present nor absent", "00000001 00000001 00000020 00000000 00000002 00000000 00000000", rpcrdma.ErrMalformed},
		{"reply chunk of 2^32-1 segments", "00000001 00000001 00000020 00000001 00000000 00000000 00000001 ffffffff", rpcrdma.ErrMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := unhex(t, tt.hex)
			h := rpcrdma.Header{Align: 99, Threshold: 99, Err: 99, Low: 99, High: 99, Extra: [8]uint32{7: 99}}
			if n, err := h.Parse(b); !errors.Is(err, tt.want) {
				t.Errorf("Parse() = %d, %v, want %v", n, err, tt.want)
			}
			if h.XID != 1 || h.Credits != 32 || h.Err != 0 || h.Low != 0 || h.High != 0 || h.Align != 0 || h.Threshold != 0 || h.Extra != [8]uint32{} {
				t.Errorf("left %+v", h)
			}
		})
	}
}

// An error about the chunk lists is one about the header too.
func TestHeaderListError(t *testing.T) {
	var h rpcrdma.Header
	_, err := h.Parse(unhex(t, "00000001 00000001 00000020 00000000 00000001 00000000"))
	for _, want := range []error{rpcrdma.ErrMalformed, chunks.ErrMalformed, xdr.ErrShort} {
		if !errors.Is(err, want) {
			t.Errorf("error %v is not %v", err, want)
		}
	}
}

func TestHeaderAllocates(t *testing.T) {
	b := unhex(t, headers[2].hex)
	var h rpcrdma.Header
	buf := make([]byte, 0, len(b))
	if n := testing.AllocsPerRun(100, func() {
		if _, err := h.Parse(b); err != nil {
			t.Fatal(err)
		}
		h.Append(buf)
	}); n > 0 {
		t.Errorf("%v allocations in the steady state", n)
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{rpcrdma.TypeMsg.String(), "RDMA_MSG"},
		{rpcrdma.TypeNoMsg.String(), "RDMA_NOMSG"},
		{rpcrdma.TypeMsgP.String(), "RDMA_MSGP"},
		{rpcrdma.TypeDone.String(), "RDMA_DONE"},
		{rpcrdma.TypeError.String(), "RDMA_ERROR"},
		{rpcrdma.Type(5).String(), "rdma_proc 5"},
		{rpcrdma.ErrVers.String(), "ERR_VERS"},
		{rpcrdma.ErrChunk.String(), "ERR_CHUNK"},
		{rpcrdma.ErrCode(3).String(), "rpc_rdma_errcode 3"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, tt := range headers {
		f.Add(unhex(f, tt.hex))
	}
	for _, s := range captured(f) {
		f.Add(s.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second rpcrdma.Header
		n, err := first.Parse(b)
		if err != nil {
			if !errors.Is(err, rpcrdma.ErrShort) && !errors.Is(err, rpcrdma.ErrVersion) && !errors.Is(err, rpcrdma.ErrMalformed) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if again := first.Append(nil); string(again) != string(b[:n]) || first.Len() != n {
			t.Fatalf("parsed %d bytes and encoded again, Len() = %d:\n%x\n%x", n, first.Len(), b[:n], again)
		}
		if _, err := second.Parse(b[:n]); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, second, sameHeader); diff != "" {
			t.Fatalf("parsed twice (-first +second):\n%s", diff)
		}
	})
}

// unhex decodes hexadecimal digits; white space is for the reader.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}
