package mpa_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/mpa"
)

// reqFrame and repFrame return frames. The bytes behind the key are given in hex, with any blanks.
func reqFrame(t testing.TB, s string) []byte {
	return append([]byte("MPA ID Req Frame"), unhex(t, s)...)
}
func repFrame(t testing.TB, s string) []byte {
	return append([]byte("MPA ID Rep Frame"), unhex(t, s)...)
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

var startupFrames = []struct {
	name string
	in   func(testing.TB, string) []byte
	tail string
	want mpa.Frame
}{
	{"bare request", reqFrame, "00 01 0000", mpa.Frame{Revision: 1}},
	{"bare reply", repFrame, "00 01 0000", mpa.Frame{Reply: true, Revision: 1}},
	{"M", reqFrame, "80 01 0000", mpa.Frame{Revision: 1, Markers: true}},
	{"C", reqFrame, "40 01 0000", mpa.Frame{Revision: 1, CRC: true}},
	{"R", repFrame, "20 01 0000", mpa.Frame{Reply: true, Revision: 1, Reject: true}},
	{"S", reqFrame, "10 02 0000", mpa.Frame{Revision: 2, Enhanced: true}},
	{"every bit", repFrame, "f0 ff 0000", mpa.Frame{Reply: true, Revision: 255, Markers: true, CRC: true, Reject: true, Enhanced: true}},
	{"private data", reqFrame, "00 00 0003 616263", mpa.Frame{PrivateData: []byte("abc")}},
	{"the most private data", reqFrame, "00 01 0200" + strings.Repeat("5a", 512), mpa.Frame{Revision: 1, PrivateData: bytes.Repeat([]byte{0x5a}, 512)}},
}

func TestFrame(t *testing.T) {
	for _, tt := range startupFrames {
		t.Run(tt.name, func(t *testing.T) {
			in := tt.in(t, tt.tail)
			for _, behind := range []string{"", "next"} {
				got, n, err := mpa.ParseFrame(append(bytes.Clone(in), behind...))
				if err != nil || n != len(in) {
					t.Fatalf("ParseFrame: %d bytes, %v, want %d", n, err, len(in))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("ParseFrame (-want +got):\n%s", diff)
				}
			}
			got, err := tt.want.Append([]byte("before"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(append([]byte("before"), in...), got); diff != "" {
				t.Errorf("Append (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFrameTruncated(t *testing.T) {
	for _, tt := range startupFrames {
		t.Run(tt.name, func(t *testing.T) {
			in := tt.in(t, tt.tail)
			for i := range in {
				if _, _, err := mpa.ParseFrame(in[:i]); !errors.Is(err, mpa.ErrFrame) {
					t.Fatalf("ParseFrame of %d bytes: got %v, want ErrFrame", i, err)
				}
				f := mpa.Frame{Reply: tt.want.Reply}
				want := io.ErrUnexpectedEOF
				if i == 0 {
					want = io.EOF
				}
				if n, err := mpa.ReadFrame(bytes.NewReader(in[:i]), &f); err != want || n != i {
					t.Fatalf("readFrame of %d bytes: got %d, %v, want %v", i, n, err, want)
				}
			}
		})
	}
}

// RFC 5044 section 7.1: the reserved bits are zero when sent, and not checked on receipt.
func TestFrameReservedBits(t *testing.T) {
	got, _, err := mpa.ParseFrame(repFrame(t, "5f 02 0001 aa"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := got.Append(nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(repFrame(t, "50 02 0001 aa"), b); diff != "" {
		t.Errorf("appended again (-want +got):\n%s", diff)
	}
}

const keyLen = 16

// rpcHeader is the beginning of an RPC message over TCP, with the given first two bytes of the
// record mark, last byte of the message type, and last byte of the RPC version.
func rpcHeader(mark, mark2, mtype, version byte) []byte {
	return []byte{mark, mark2, 0, 40, 0xde, 0xad, 0xbe, 0xef, 0, 0, 0, mtype, 0, 0, 0, version, 0, 1, 0x86, 0xa3}
}

// Texts of errors about frames. The first two come with ErrNotMPA.
const (
	wrongKey    = "wrong key"
	rpcKey      = "it speaks RPC over TCP"
	longPrivate = "private data of more than 512 bytes"
)

// saysFrame reports whether err is an ErrFrame with exactly that reason.
func saysFrame(err error, wrong string) bool {
	return errors.Is(err, mpa.ErrFrame) && errors.Is(err, mpa.ErrNotMPA) == (wrong != longPrivate) && strings.Contains(err.Error(), wrong)
}

func TestBadFrames(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   []byte
		want string
	}{
		{"another protocol", []byte("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"), wrongKey},
		{"key of neither", append([]byte("MPA ID Rex Frame"), 0, 1, 0, 0), wrongKey},
		{"key of other case", append([]byte("MPA ID req Frame"), 0, 1, 0, 0), wrongKey},
		{"last byte of the key", append([]byte("MPA ID Req FramE"), 0, 1, 0, 0), wrongKey},
		{"RPC over TCP", rpcHeader(0x80, 0, 0, 2), rpcKey},
		{"RPC over TCP, the first of two fragments", rpcHeader(0, 0, 0, 2), wrongKey},
		{"RPC over TCP, 64 KiB", rpcHeader(0x80, 1, 0, 2), wrongKey},
		{"RPC over TCP, a reply", rpcHeader(0x80, 0, 1, 2), wrongKey},
		{"RPC over TCP, version 3", rpcHeader(0x80, 0, 0, 3), wrongKey},
		{"513 bytes", append(reqFrame(t, "00 01 0201"), make([]byte, 513)...), longPrivate},
		{"65535 bytes", append(reqFrame(t, "00 01 ffff"), make([]byte, 65535)...), longPrivate},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, _, err := mpa.ParseFrame(tt.in); !saysFrame(err, tt.want) {
				t.Errorf("ParseFrame: got %v, want %v", err, tt.want)
			}
			r := bytes.NewReader(tt.in)
			if _, err := mpa.ReadFrame(r, new(mpa.Frame)); !saysFrame(err, tt.want) {
				t.Errorf("readFrame: got %v, want %v", err, tt.want)
			}
			if tt.want == longPrivate && r.Len() != len(tt.in)-20 {
				t.Errorf("readFrame took %d bytes, want 20", len(tt.in)-r.Len())
			}
		})
	}
	f := mpa.Frame{PrivateData: make([]byte, 513)}
	if got, err := f.Append([]byte("as before")); !errors.Is(err, mpa.ErrFrame) || string(got) != "as before" {
		t.Errorf("Append of 513 bytes: got %q, %v", got, err)
	}
}

// A frame is read to its end and no further, in whatever parts it arrives.
func TestReadFrame(t *testing.T) {
	for _, tt := range startupFrames {
		t.Run(tt.name, func(t *testing.T) {
			in := append(tt.in(t, tt.tail), "FPDU"...)
			for name, wrap := range map[string]func(io.Reader) io.Reader{
				"at once": func(r io.Reader) io.Reader { return r }, "by one byte": iotest.OneByteReader,
				"by halves": iotest.HalfReader,
			} {
				r := bytes.NewReader(in)
				got := mpa.Frame{Reply: tt.want.Reply}
				n, err := mpa.ReadFrame(wrap(r), &got)
				if err != nil || n != len(in)-4 {
					t.Fatalf("%s: got %d bytes, %v, want %d", name, n, err, len(in)-4)
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
				if r.Len() != 4 {
					t.Errorf("%s: %d bytes left, want 4", name, r.Len())
				}
			}
		})
	}
}

// An error that comes with the last bytes is left to the next read.
func TestReadFrameErrorBehind(t *testing.T) {
	for _, tt := range startupFrames {
		in := tt.in(t, tt.tail)
		f := mpa.Frame{Reply: tt.want.Reply}
		if n, err := mpa.ReadFrame(iotest.DataErrReader(bytes.NewReader(in)), &f); err != nil || n != len(in) {
			t.Errorf("%s: got %d bytes, %v, want %d", tt.name, n, err, len(in))
		}
	}
}

// The protocol of another peer can only be recognized from the bytes that have come, which may be
// too few at first.
func TestReadFrameKeyCut(t *testing.T) {
	call := rpcHeader(0x80, 0, 0, 2)
	for i := 1; i <= len(call); i++ {
		want := wrongKey
		if i >= keyLen {
			want = rpcKey
		}
		n, err := mpa.ReadFrame(bytes.NewReader(call[:i]), new(mpa.Frame))
		if !saysFrame(err, want) || n != i {
			t.Errorf("%d bytes: got %d bytes, %v, want %v", i, n, err, want)
		}
	}
}

// Reading stops at the first wrong byte of a key, without asking for more.
func TestReadFrameKeyEarly(t *testing.T) {
	for i := range keyLen {
		b := []byte("MPA ID Req Frame")[:i+1]
		b[i] ^= 1
		then := errors.New("read on")
		r := io.MultiReader(iotest.OneByteReader(bytes.NewReader(b)), iotest.ErrReader(then))
		if n, err := mpa.ReadFrame(r, new(mpa.Frame)); !saysFrame(err, wrongKey) || n != i+1 {
			t.Errorf("wrong byte %d: got %d bytes, %v, want %v", i, n, err, wrongKey)
		}
	}
}

// An error of the reader is returned.
func TestReadFrameError(t *testing.T) {
	in := reqFrame(t, "00 01 0004 01020304")
	want := errors.New("line cut")
	for i := range in {
		r := io.MultiReader(bytes.NewReader(in[:i]), iotest.ErrReader(want))
		if n, err := mpa.ReadFrame(r, new(mpa.Frame)); err != want || n != i {
			t.Errorf("after %d bytes: got %d, %v, want %v", i, n, err, want)
		}
	}
}

func FuzzParseFrame(f *testing.F) {
	for _, tt := range startupFrames {
		f.Add(tt.in(f, tt.tail))
	}
	for _, c := range siwStartups(f) {
		f.Add(c.request)
		f.Add(c.reply)
	}
	f.Add(reqFrame(f, "00 01 0201"))
	f.Fuzz(func(t *testing.T, in []byte) {
		got, n, err := mpa.ParseFrame(in)
		read := mpa.Frame{Reply: bytes.HasPrefix(in, []byte("MPA ID Rep Frame"))}
		m, rerr := mpa.ReadFrame(bytes.NewReader(in), &read)
		if (err == nil) != (rerr == nil) {
			t.Fatalf("ParseFrame: %v, readFrame: %v", err, rerr)
		}
		if err != nil {
			if !errors.Is(err, mpa.ErrFrame) {
				t.Fatalf("got %v, want ErrFrame", err)
			}
			return
		}
		if diff := cmp.Diff(got, read); diff != "" || n != m {
			t.Fatalf("ParseFrame took %d, readFrame %d (-parse +read):\n%s", n, m, diff)
		}
		want := bytes.Clone(in[:n])
		want[keyLen] &^= 0x0f // reserved
		b, err := got.Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, b); diff != "" {
			t.Fatalf("appended again (-want +got):\n%s", diff)
		}
	})
}
