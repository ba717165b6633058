package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// headers are headers with XID 7 that ask for 32 credits, and their encoding (draft section 4.3).
var headers = []goldenHeader{
	{"RDMA_MSG, no chunks", 1, "00000000 00000000 00000000 00000000", Header{}},
	{"RDMA_MSG, read list", 1, `00000000
		00000001 00000070 908af803 00010d43 9b8ba1e8 88f44000 00000000 00000000 00000000`,
		Header{Lists: chunks.Lists{Reads: []chunks.ReadSegment{{
			Position: 0x70,
			Segment:  chunks.Segment{Handle: 0x908af803, Length: 68931, Offset: 0x9b8ba1e8_88f44000},
		}}}}},
	{"RDMA_NOMSG, all lists", 1, `00000001
		00000001 00000000 00000001 00001000 00000000 00010000
		00000001 0000002c 00000002 00002000 00000000 00020000 00000000
		00000001 00000001 00000003 00003000 00000000 00030000 00000000
		00000001 00000002 00000004 00004000 00000000 00040000 00000005 00005000 00000000 00050000`,
		Header{Type: TypeNoMsg, Lists: chunks.Lists{
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
		}}},
	{"RDMA_MSGP", 1, `00000002 00001000 00000400
		00000001 00000000 00000001 00001000 00000000 00010000 00000000 00000000 00000000`,
		Header{
			Type: TypeMsgP, Align: 4096, Threshold: 1024,
			Lists: chunks.Lists{Reads: []chunks.ReadSegment{
				{Segment: chunks.Segment{Handle: 1, Length: 0x1000, Offset: 0x10000}},
			}},
		}},
	{"RDMA_DONE", 1, "00000003", Header{Type: TypeDone}},
	{"RDMA_ERROR, ERR_VERS", 1, "00000004 00000001 00000001 00000003",
		Header{Type: TypeError, Err: ErrVers, Low: 1, High: 3}},
	// As svcrdma does.
	{"RDMA_ERROR of the version that was asked for", 2, "00000004 00000001 00000001 00000001",
		Header{Type: TypeError, Err: ErrVers, Low: 1, High: 1}},
	{"RDMA_ERROR, ERR_CHUNK", 1, "00000004 00000002",
		Header{Type: TypeError, Err: ErrChunk}},
	{"RDMA_ERROR, another code: rdma_extra[8]", 1, `00000004 00000003
		00000011 00000022 00000033 00000044 00000055 00000066 00000077 00000088`,
		Header{
			Type: TypeError, Err: 3,
			Extra: [8]uint32{0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88},
		}},
}

// goldenHeader is one of them.
type goldenHeader struct {
	name    string
	version uint32
	hex     string // after XID, version and credits
	h       Header
}

func (g goldenHeader) bytes(t testing.TB) []byte {
	t.Helper()
	return unhex(t, fmt.Sprintf("00000007 %08x 00000020 %s", g.version, g.hex))
}

func (g goldenHeader) want() Header {
	g.h.XID, g.h.Version, g.h.Credits = 7, g.version, 32
	return g.h
}

// sameHeader compares what the wire shows of two headers.
var sameHeader = cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(chunks.Lists{})}

// TestHeaderGolden: headers are encoded and parsed as they are in bytes.
func TestHeaderGolden(t *testing.T) {
	var reused Header
	for _, tt := range headers {
		t.Run(tt.name, func(t *testing.T) {
			b, want := tt.bytes(t), tt.want()
			if diff := cmp.Diff(b, want.Append(nil)); diff != "" {
				t.Errorf("encoded (-want +got):\n%s", diff)
			}
			if n := want.Len(); n != len(b) {
				t.Errorf("Len() = %d, encoded %d", n, len(b))
			}
			// Bytes after the header are ignored, and nothing of the previous header is left in h.
			for _, h := range []*Header{{}, &reused} {
				n, err := h.Parse(append(b[:len(b):len(b)], "message"...))
				if err != nil || n != len(b) {
					t.Errorf("Parse() = %d, %v, want %d", n, err, len(b))
				}
				if diff := cmp.Diff(want, *h, sameHeader); diff != "" {
					t.Errorf("parsed (-want +got):\n%s", diff)
				}
			}
		})
	}
}

// TestHeaderTruncated parses every truncation. The answer to a malformed header needs its fixed
// words.
func TestHeaderTruncated(t *testing.T) {
	for _, tt := range headers {
		b := tt.bytes(t)
		for i := range b {
			var h Header
			n, err := h.Parse(b[:i])
			want := ErrMalformed
			if i < chunks.FixedLen {
				want = ErrShort
			} else if h.XID != 7 || h.Credits != 32 || h.Type != tt.h.Type {
				t.Errorf("%s, first %d bytes: fixed words are %+v", tt.name, i, h)
			}
			if !errors.Is(err, want) || n != 0 {
				t.Errorf("%s, first %d bytes: %d, error %v, want %v", tt.name, i, n, err, want)
			}
		}
	}
}

// TestHeaderRefused parses headers that are not valid. An error about chunk lists is one about the
// header too.
func TestHeaderRefused(t *testing.T) {
	for _, tt := range []struct {
		name string
		hex  string // after XID 1
		want error
	}{
		{"version 2", "00000002 00000020 00000000 00000000 00000000 00000000", ErrVersion},
		{"version 2, nothing else understood", "00000002 00000020 00000063", ErrVersion},
		{"type 2^32-1", "00000001 00000020 ffffffff", ErrMalformed},
		{"read list", "00000001 00000020 00000000 00000002 00000000 00000000", chunks.ErrMalformed},
		{"end", "00000001 00000020 00000000 00000001 00000000", xdr.ErrShort},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := Header{
				Align: 99, Threshold: 99, Err: 99, Low: 99, High: 99, Extra: [8]uint32{7: 99},
			}
			_, err := h.Parse(unhex(t, "00000001"+tt.hex))
			if !errors.Is(err, tt.want) || errors.Is(err, ErrMalformed) !=
				!errors.Is(err, ErrVersion) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
			want := Header{XID: 1, Version: h.Version, Credits: 32, Type: h.Type}
			if diff := cmp.Diff(want, h, sameHeader); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{TypeMsg.String(), "RDMA_MSG"},
		{TypeNoMsg.String(), "RDMA_NOMSG"},
		{TypeMsgP.String(), "RDMA_MSGP"},
		{TypeDone.String(), "RDMA_DONE"},
		{TypeError.String(), "RDMA_ERROR"},
		{Type(5).String(), "rdma_proc 5"},
		{ErrVers.String(), "ERR_VERS"},
		{ErrChunk.String(), "ERR_CHUNK"},
		{ErrCode(3).String(), "rpc_rdma_errcode 3"},
	} {
		if tt.got != tt.want {
			t.Errorf("%q, want %q", tt.got, tt.want)
		}
	}
}

func FuzzHeader(f *testing.F) {
	for _, tt := range headers {
		f.Add(tt.bytes(f))
	}
	for _, s := range captured(f) {
		f.Add(s.bytes)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var first, second Header
		n, err := first.Parse(b)
		if err != nil {
			wants := []error{ErrShort, ErrVersion, ErrMalformed}
			if !slices.ContainsFunc(wants, func(want error) bool { return errors.Is(err, want) }) {
				t.Fatalf("error %v", err)
			}
			return
		}
		if again := first.Append(nil); string(again) != string(b[:n]) || first.Len() != n {
			t.Fatalf("Len() = %d, encoded again %x, want %x", first.Len(), again, b[:n])
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
