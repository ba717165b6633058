package confproto

import (
	"bytes"
	"encoding/hex"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// message is what Request and Reply have in common.
type message interface {
	MarshalXDR(*xdr.Encoder)
	UnmarshalXDR(*xdr.Decoder)
}

// goldens are messages and their bytes, written down from the description of the protocol (draft
// section 6.2).
var goldens = []struct {
	name  string
	in    message
	empty func() message
	bytes string
}{
	{"request", &Request{MaxCallSendSize: 4096, MaxReplySendSize: 65536, MaxRDMARead: 16}, func() message { return new(Request) },
		"00001000 00010000 00000010"},
	{"request of the most", &Request{math.MaxUint32, math.MaxUint32 - 1, math.MaxUint32 - 2}, func() message { return new(Request) },
		"ffffffff fffffffe fffffffd"},
	{"reply", &Reply{MaxCallSendSize: 1024, Align: 512, MaxRDMARead: 1}, func() message { return new(Reply) },
		"00000400 00000200 00000001"},
	{"reply of nothing", &Reply{}, func() message { return new(Reply) },
		"00000000 00000000 00000000"},
}

func golden(t *testing.T, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func encode(m message) ([]byte, error) {
	var e xdr.Encoder
	m.MarshalXDR(&e)
	return e.Message().Inline, e.Err()
}

func decode(b []byte, m message) error {
	d := xdr.NewDecoder(b)
	m.UnmarshalXDR(d)
	return d.Finish()
}

// TestMessages: messages have exactly the bytes that the draft says.
func TestMessages(t *testing.T) {
	for _, tt := range goldens {
		want := golden(t, tt.bytes)
		got, err := encode(tt.in)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: got %x, %v, want %x", tt.name, got, err, want)
		}
		back := tt.empty()
		if err := decode(want, back); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		again, err := encode(back)
		if err != nil || !bytes.Equal(again, want) {
			t.Errorf("%s: decoded and encoded again: got %x, %v, want %x", tt.name, again, err, want)
		}
	}
}

// TestMessagesWrongLength: no more and no less than three words.
func TestMessagesWrongLength(t *testing.T) {
	for _, tt := range goldens {
		b := golden(t, tt.bytes)
		for n := range b {
			if err := decode(b[:n], tt.empty()); !errors.Is(err, xdr.ErrShort) {
				t.Errorf("%s: %d bytes: got %v, want %v", tt.name, n, err, xdr.ErrShort)
			}
		}
		if err := decode(append(b, 0, 0, 0, 0), tt.empty()); !errors.Is(err, xdr.ErrTrailing) {
			t.Errorf("%s: a word more: got %v, want %v", tt.name, err, xdr.ErrTrailing)
		}
	}
}

// FuzzMessages: a message that can be decoded is encoded to the same bytes. Others do no harm.
func FuzzMessages(f *testing.F) {
	for _, tt := range goldens {
		b, err := encode(tt.in)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
		f.Add(b[:5])
		f.Add(append(b, b...))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []message{new(Request), new(Reply)} {
			if err := decode(b, m); (err == nil) != (len(b) == messageLen) {
				t.Fatalf("%x: %v", b, err)
			} else if err != nil {
				continue
			}
			if got, err := encode(m); err != nil || !bytes.Equal(got, b) {
				t.Fatalf("%x came back as %x, %v", b, got, err)
			}
		}
	})
}
