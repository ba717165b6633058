package gss_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func newEncoder() *xdr.Encoder { return new(xdr.Encoder) }
func newMessage() *xdr.Message { return new(xdr.Message) }

// unhexReply returns an accepted reply with the given bytes from its verifier on.
func unhexReply(s string) []byte {
	b, err := hex.DecodeString(strings.Join(strings.Fields("00000001 00000001 00000000"+s), ""))
	if err != nil {
		panic(err)
	}
	return b
}

// unhexDenied returns a denied reply without its last byte.
func unhexDenied() []byte {
	return []byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0}
}

// initRes is a reply to a creation request.
type initRes struct {
	verf                 uint32
	mic, handle          []byte
	major, minor, window uint32
	token                []byte
}

// initOf returns a valid reply for plain.
func initOf(window uint32) initRes {
	return initRes{6, []byte{'s', 'u', 'm', 4, 0}, []byte("handle"), 0, 0, window, []byte("welcome")}
}

func words(b []byte, w ...uint32) []byte {
	for _, v := range w {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return b
}

func opaque(b, data []byte) []byte {
	b = append(words(b, uint32(len(data))), data...)
	return append(b, make([]byte, -len(data)&3)...)
}

func initReply(r initRes) []byte {
	b := opaque(words(nil, 1, 1, 0, r.verf), r.mic)
	b = opaque(words(b, 0), r.handle)
	return opaque(words(b, r.major, r.minor, r.window), r.token)
}

// Invalid replies to a creation request are errors, and no call is made.
func TestInitReplies(t *testing.T) {
	with := func(change func(r *initRes)) []byte {
		r := initOf(8192)
		change(&r)
		return initReply(r)
	}
	good := initReply(initOf(8192))
	for _, tt := range []struct {
		name  string
		reply []byte
		is    error // found by errors.As; nil means any
	}{
		{"refused", with(func(r *initRes) { r.major, r.minor = 0x000d0000, 42 }), &gss.StatusError{Major: gss.Failure, Minor: 42}},
		{"refused with more than one status", with(func(r *initRes) { r.major = 0x00070001 }), &gss.StatusError{Major: 0x00070001}},
		{"supplementary status alone", with(func(r *initRes) { r.major = 2 }), &gss.StatusError{Major: gss.DuplicateToken}},
		{"denied", append(unhexDenied(), byte(oncrpc.AuthRejectedCred)), &oncrpc.AuthError{Stat: oncrpc.AuthRejectedCred}},
		{"denied as data calls are", append(unhexDenied(), byte(oncrpc.GSSCredProblem)), &oncrpc.AuthError{Stat: oncrpc.GSSCredProblem}},
		{"no such program", unhexReply("00000000 00000000 00000001"), &oncrpc.AcceptError{Stat: oncrpc.ProgUnavail}},
		{"no handle", with(func(r *initRes) { r.handle = nil }), nil},
		{"no window", with(func(r *initRes) { r.window = 0 }), nil},
		{"no verifier", with(func(r *initRes) { r.verf, r.mic = 0, nil }), nil},
		{"verifier of another flavour", with(func(r *initRes) { r.verf = 0 }), nil},
		{"wrong verifier", with(func(r *initRes) { r.mic[3] = 5 }), nil},
		{"longest handle and one byte more", with(func(r *initRes) { r.handle = make([]byte, 381) }), nil},
		{"token of 64 KiB and one byte more", with(func(r *initRes) { r.token = make([]byte, 64<<10+1) }), nil},
		{"more behind it", append(bytes.Clone(good), 0, 0, 0, 0), nil},
		{"continued for ever", with(func(r *initRes) { r.major = 1 }), nil},
	} {
		p := newPeer(1, nil)
		n := 0
		p.answer = func([]byte) []byte { n++; return bytes.Clone(tt.reply) }
		err := p.client(gss.NewClientFlavor(gss.ClientConfig{Initiator: &plain{}, Target: "test@server"})).
			Call(t.Context(), 1, number(1), nil)
		if n > gss.MaxRounds || n == 0 {
			t.Errorf("%s: %d calls", tt.name, n)
		}
		var op *gss.OpError
		if !errors.As(err, &op) {
			t.Errorf("%s: %v", tt.name, err)
		}
		var status *gss.StatusError
		var denied *oncrpc.AuthError
		var accept *oncrpc.AcceptError
		switch want := tt.is.(type) {
		case *gss.StatusError:
			if !errors.As(err, &status) || *status != *want {
				t.Errorf("%s: %v, want %v", tt.name, err, want)
			}
		case *oncrpc.AuthError:
			if !errors.As(err, &denied) || *denied != *want {
				t.Errorf("%s: %v, want %v", tt.name, err, want)
			}
		case *oncrpc.AcceptError:
			if !errors.As(err, &accept) || *accept != *want {
				t.Errorf("%s: %v, want %v", tt.name, err, want)
			}
		}
	}
	for n := range good[:len(good)-1] {
		p := newPeer(1, nil)
		p.answer = func([]byte) []byte { return bytes.Clone(good[:n]) }
		f := gss.NewClientFlavor(gss.ClientConfig{Initiator: &plain{}, Target: "test@server"})
		if err := p.client(f).Call(t.Context(), 1, number(1), nil); err == nil {
			t.Errorf("cut to %d bytes: no error", n)
		}
	}
}

// FuzzInitReply creates a context with a server that sends arbitrary replies.
func FuzzInitReply(f *testing.F) {
	f.Add(initReply(initOf(1)))
	r := initOf(8192)
	r.major, r.verf, r.mic = 1, 0, nil
	f.Add(initReply(r))
	f.Add(append(unhexDenied(), 2))
	f.Fuzz(func(t *testing.T, reply []byte) {
		p := newPeer(1, nil)
		n := 0
		p.answer = func([]byte) []byte {
			if n++; n > gss.MaxRounds+3 {
				t.Fatal("too many calls")
			}
			return bytes.Clone(reply)
		}
		flavor := gss.NewClientFlavor(gss.ClientConfig{Initiator: &plain{}, Target: "test@server"})
		_ = p.client(flavor).Call(t.Context(), 1, number(1), nil)
	})
}
