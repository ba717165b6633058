package krb5_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5/internal/enctype"
)

// each runs a test for each encryption type.
func each(t *testing.T, test func(*testing.T, *rig)) {
	for _, id := range enctype.All {
		t.Run(id.String(), func(t *testing.T) { test(t, newRig(id)) })
	}
}

var text = []byte("the quick brown fox jumps over the lazy dog")

func status(t *testing.T, err error, major gss.Major) {
	t.Helper()
	var s *gss.StatusError
	if !errors.As(err, &s) || s.Major != major {
		t.Errorf("error %v, want %v", err, major)
	}
}

// Tokens between two ends of ours, with all divisions into parts.
func TestTokens(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		client, server := r.pair(t)
		if server.Peer() != "alice@TEST.EXAMPLE" || client.Peer() != "nfs/server.test@TEST.EXAMPLE" {
			t.Errorf("peers: %s and %s", server.Peer(), client.Peer())
		}
		for _, ends := range [][2]gss.Context{{client, server}, {server, client}} {
			from, to := ends[0], ends[1]
			for i := range text {
				msg := [][]byte{text[:i], text[i:]}
				mic, err := from.AppendMIC([]byte("before"), msg)
				if err != nil || len(mic) > 6+from.MaxMIC() || string(mic[:6]) != "before" {
					t.Fatalf("%x, %v", mic, err)
				}
				if err := to.VerifyMIC(mic[6:], [][]byte{text}); err != nil {
					t.Errorf("MIC: %v", err)
				}
				token, err := from.AppendWrap(make([]byte, 3, 500), [][]byte{text[:i]})
				if err != nil || len(token) != 3+from.WrapLen(i) {
					t.Fatalf("%d bytes, %v; want %d", len(token), err, 3+from.WrapLen(i))
				}
				if got, err := to.Unwrap(token[3:]); err != nil || !bytes.Equal(got, text[:i]) {
					t.Errorf("Unwrap of %d bytes: %q, %v", i, got, err)
				}
			}
		}
	})
}

// Tokens are numbered consecutively.
func TestSequence(t *testing.T) {
	client, _ := newRig(enctype.AES256SHA1).pair(t)
	var last uint64
	for i := range 10 {
		appends := client.AppendMIC
		if i%2 == 1 {
			appends = client.AppendWrap
		}
		token, err := appends(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		number := binary.BigEndian.Uint64(token[8:])
		if i > 0 && number != last+1 {
			t.Errorf("token %d has number %d after %d", i, number, last)
		}
		last = number
	}
}

// A MIC token that is truncated, extended, changed or returned to its sender is refused.
func TestDamagedMIC(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		client, server := r.pair(t)
		msg := [][]byte{text}
		mic, err := client.AppendMIC(nil, msg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range mic {
			if server.VerifyMIC(mic[:i], msg) == nil {
				t.Fatalf("cut to %d bytes, it is accepted", i)
			}
			for bit := range 8 {
				changed := bytes.Clone(mic)
				changed[i] ^= 1 << bit
				if server.VerifyMIC(changed, msg) == nil {
					t.Fatalf("byte %d changed from %02x to %02x, it is accepted", i, mic[i], changed[i])
				}
			}
		}
		status(t, server.VerifyMIC(append(bytes.Clone(mic), 0), msg), gss.DefectiveToken)
		status(t, server.VerifyMIC(mic, [][]byte{text[1:]}), gss.BadMIC)
		status(t, client.VerifyMIC(mic, msg), gss.BadMIC)
		if err := server.VerifyMIC(mic, msg); err != nil {
			t.Error(err)
		}
	})
}

// A Wrap token that is truncated, extended or changed is refused. Only the rotation is not
// protected: changing it moves the bytes.
func TestDamagedWrap(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		client, server := r.pair(t)
		token, err := client.AppendWrap(nil, [][]byte{text})
		if err != nil {
			t.Fatal(err)
		}
		for i := range token {
			if got, err := server.Unwrap(bytes.Clone(token[:i])); err == nil {
				t.Fatalf("cut to %d bytes, it is %q", i, got)
			}
			for bit := range 8 {
				changed := bytes.Clone(token)
				changed[i] ^= 1 << bit
				if got, err := server.Unwrap(changed); err == nil {
					t.Fatalf("byte %d changed to %02x, it is %q", i, token[i]^1<<bit, got)
				}
			}
		}
		if got, err := server.Unwrap(append(bytes.Clone(token), 0)); err == nil {
			t.Errorf("with a byte more it is %q", got)
		}
		_, err = client.Unwrap(bytes.Clone(token))
		status(t, err, gss.BadMIC)
		if got, err := server.Unwrap(token); err != nil || !bytes.Equal(got, text) {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// oneWay creates a context of an initiator that wants no AP-REP: its subkey protects tokens.
func (r *rig) oneWay(t testing.TB) gss.Context {
	t.Helper()
	token := r.request(t, func(q *apReq) { q.flags = 16 | 32 })
	reply, made, err := r.acceptor(t, nil).Accept().Step(t.Context(), token)
	if err != nil || reply != nil {
		t.Fatalf("%x, %v", reply, err)
	}
	return made
}

// wrapped returns a Wrap token of an initiator with the rig's subkey (RFC 4121 section 4.2.4).
func (r *rig) wrapped(t testing.TB, text []byte, filler int, rrc uint16, change func(outer, inner []byte)) []byte {
	t.Helper()
	c, err := enctype.NewCipher(r.id, r.subkey, 24)
	if err != nil {
		t.Fatal(err)
	}
	header := []byte{5, 4, 2, 0xff, byte(filler >> 8), byte(filler), 0, 0, 0, 0, 0, 0, 0, 0, 0, 42}
	inner := bytes.Clone(header)
	binary.BigEndian.PutUint16(header[6:], rrc)
	if change != nil {
		change(header, inner)
	}
	sealed := slices.Concat(make([]byte, 16), text, bytes.Repeat([]byte{0xee}, filler), inner)
	sealed = append(sealed, make([]byte, c.Overhead()-16)...)
	c.Seal(sealed)
	n := int(rrc) % len(sealed)
	return slices.Concat(header, sealed[len(sealed)-n:], sealed[:len(sealed)-n])
}

// Every rotation is undone, even one longer than the token, and filler is removed.
func TestRotatedAndFilled(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		server := r.oneWay(t)
		for rrc := range uint16(300) {
			for _, filler := range []int{0, 1, 16} {
				token := r.wrapped(t, text, filler, rrc, nil)
				if got, err := server.Unwrap(token); err != nil || !bytes.Equal(got, text) {
					t.Fatalf("rotated by %d, with filler of %d: %q, %v", rrc, filler, got, err)
				}
			}
		}
		for _, rrc := range []uint16{0x7fff, 0x8000, 0xffff} {
			if got, err := server.Unwrap(r.wrapped(t, text, 0xffff, rrc, nil)); err != nil || !bytes.Equal(got, text) {
				t.Errorf("rotated by %d: %q, %v", rrc, got, err)
			}
		}
	})
}

// Tokens with wrong headers are refused, although the key is right.
func TestWrongHeaders(t *testing.T) {
	r := newRig(enctype.AES256SHA384)
	server := r.oneWay(t)
	both := func(at int, mask byte) func(outer, inner []byte) {
		return func(outer, inner []byte) { outer[at] ^= mask; inner[at] ^= mask }
	}
	for _, tt := range []struct {
		name   string
		change func(outer, inner []byte)
		major  gss.Major
	}{
		{"of the acceptor", both(2, 1), gss.BadMIC},
		{"with the acceptor's subkey", both(2, 4), gss.BadMIC},
		{"not sealed", both(2, 2), gss.BadMIC},
		{"a MIC token", func(outer, inner []byte) { outer[0], inner[0] = 4, 4 }, gss.DefectiveToken},
		{"another filler byte", both(3, 1), gss.DefectiveToken},
		{"too much filler", both(5, 0x7f), gss.DefectiveToken},
		{"filler in the outer header", func(outer, _ []byte) { outer[5] = 1 }, gss.BadMIC},
		{"a rotation in the inner header", func(_, inner []byte) { inner[7] = 1 }, gss.BadMIC},
		{"another number", func(_, inner []byte) { inner[15] ^= 1 }, gss.BadMIC},
		{"another kind inside", func(_, inner []byte) { inner[0] = 4 }, gss.BadMIC},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := server.Unwrap(r.wrapped(t, text, 0, 0, tt.change))
			if err == nil {
				t.Fatalf("got %q", got)
			}
			status(t, err, tt.major)
		})
	}
	if _, err := server.Unwrap(r.wrapped(t, text, 0, 0, both(2, 0x80))); err != nil {
		t.Errorf("with an unknown flag, which is to be ignored: %v", err)
	}
	// A token without confidentiality, with text and checksum.
	header := []byte{5, 4, 0, 0xff, 0, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 42}
	sum, err := enctype.NewChecksum(r.id, r.subkey, 24)
	if err != nil {
		t.Fatal(err)
	}
	plain := slices.Concat(header, text)
	zeroed := bytes.Clone(header)
	zeroed[5] = 0
	_, err = server.Unwrap(sum.Append(plain, [][]byte{text}, zeroed))
	status(t, err, gss.BadMIC)
}

func FuzzUnwrap(f *testing.F) {
	r := newRig(enctype.AES128SHA1)
	server := r.oneWay(f)
	f.Add(r.wrapped(f, text, 0, 0, nil))
	f.Add(r.wrapped(f, nil, 3, 0xffff, nil))
	f.Add([]byte{5, 4, 2, 0xff})
	f.Fuzz(func(t *testing.T, token []byte) {
		n := len(token)
		got, err := server.Unwrap(token)
		if err == nil && len(got) > n {
			t.Errorf("%d bytes from %d", len(got), n)
		}
	})
}

func FuzzVerifyMIC(f *testing.F) {
	r := newRig(enctype.AES128SHA256)
	client, server := r.pair(f)
	good, err := client.AppendMIC(nil, [][]byte{text})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, text)
	f.Add(good[:16], text)
	f.Fuzz(func(t *testing.T, mic, msg []byte) {
		err := server.VerifyMIC(mic, [][]byte{msg})
		if err == nil && !(bytes.Equal(mic, good) && bytes.Equal(msg, text)) {
			t.Errorf("%x is accepted for %x", mic, msg)
		}
	})
}

func FuzzAcceptToken(f *testing.F) {
	r := newRig(enctype.AES256SHA1)
	a := r.acceptor(f, nil)
	f.Add(r.request(f, nil))
	f.Add(r.request(f, func(q *apReq) { q.ticket.SName.NameString = []string{} }))
	f.Add(framed(0x0100, []byte{0x6e, 0}))
	f.Fuzz(func(t *testing.T, token []byte) {
		_, made, err := a.Accept().Step(t.Context(), token)
		if err == nil && made != nil && made.Peer() != "alice@TEST.EXAMPLE" {
			t.Errorf("a context with %s", made.Peer())
		}
	})
}

func FuzzAPRep(f *testing.F) {
	r := newRig(enctype.AES256SHA1)
	i := r.initiator(f, nil)
	n, err := i.Initiate(f.Context(), service)
	if err != nil {
		f.Fatal(err)
	}
	token, _, err := n.Step(f.Context(), nil)
	if err != nil {
		f.Fatal(err)
	}
	reply, _, err := r.acceptor(f, nil).Accept().Step(f.Context(), token)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(reply)
	f.Add(framed(0x0300, []byte{0x7e, 0}))
	f.Fuzz(func(t *testing.T, reply []byte) {
		n, err := i.Initiate(t.Context(), service)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := n.Step(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		// The context of the subkey differs, whatever arrives.
		if _, made, err := n.Step(t.Context(), reply); err == nil && made == nil {
			t.Error("neither context nor error")
		}
	})
}
