package rpcbind

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/xdr"
)

type message interface {
	MarshalXDR(*xdr.Encoder)
	UnmarshalXDR(*xdr.Decoder)
}

func encode(t testing.TB, m interface{ MarshalXDR(*xdr.Encoder) }) []byte {
	t.Helper()
	var e xdr.Encoder
	m.MarshalXDR(&e)
	if e.Err() != nil {
		t.Fatal(e.Err())
	}
	return e.Message().Inline
}

func decode(m interface{ UnmarshalXDR(*xdr.Decoder) }, b []byte) error {
	d := xdr.NewDecoder(b)
	m.UnmarshalXDR(d)
	return d.Finish()
}

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

const (
	goldenMapping = "000186a3 00000003 00000004 72646d61 0000000d 302e302e 302e302e 37382e38 31000000 00000009 73757065 72757365 72000000"
	goldenPort    = "000186a3 00000003 00000006 00000801"
)

var (
	mapping     = Mapping{Program: 100003, Version: 3, Netid: "rdma", Addr: "0.0.0.0.78.81", Owner: "superuser"}
	portMapping = PortMapping{Program: 100003, Version: 3, Protocol: ProtoTCP, Port: 2049}
)

// The encoding of each message; every truncation fails.
func TestMessages(t *testing.T) {
	tests := []struct {
		name  string
		bytes string
		got   message
		want  func(m message) bool
	}{
		{"mapping", goldenMapping, &Mapping{}, func(m message) bool { return *m.(*Mapping) == mapping }},
		{"port mapping", goldenPort, &PortMapping{}, func(m message) bool { return *m.(*PortMapping) == portMapping }},
	}
	for _, tt := range tests {
		b := unhex(t, tt.bytes)
		if err := decode(tt.got, b); err != nil || !tt.want(tt.got) {
			t.Errorf("%s: got %v, %v", tt.name, tt.got, err)
		}
		if got := encode(t, tt.got); !bytes.Equal(got, b) {
			t.Errorf("%s: got %x, want %x", tt.name, got, b)
		}
		for i := range b {
			if decode(tt.got, b[:i]) == nil {
				t.Errorf("%s: %d bytes of %d decode", tt.name, i, len(b))
			}
		}
	}
}

func TestLists(t *testing.T) {
	var l mappings
	b := unhex(t, "00000001"+goldenMapping+"00000001"+goldenMapping+"00000000")
	if err := decode(&l, b); err != nil || !slices.Equal(l, mappings{mapping, mapping}) {
		t.Errorf("got %v, %v", l, err)
	}
	for i := range b {
		if decode(&l, b[:i]) == nil {
			t.Errorf("%d bytes of %d decode", i, len(b))
		}
	}
	var p ports
	b = unhex(t, "00000001"+goldenPort+"00000000")
	if err := decode(&p, b); err != nil || !slices.Equal(p, ports{portMapping}) {
		t.Errorf("got %v, %v", p, err)
	}
	for i := range b {
		if decode(&p, b[:i]) == nil {
			t.Errorf("%d bytes of %d decode", i, len(b))
		}
	}
	if err := decode(&l, make([]byte, 4)); err != nil || len(l) != 0 {
		t.Errorf("empty list: got %v, %v", l, err)
	}
}

// Invalid answers of a server.
func TestBadMessages(t *testing.T) {
	long := func(n int) []byte {
		b := binary.BigEndian.AppendUint32(nil, uint32(n))
		return append(b, make([]byte, xdr.RoundUp(n))...)
	}
	list := func(n int, item string) []byte {
		b := bytes.Repeat(append(unhex(t, "00000001"), unhex(t, item)...), n)
		return append(b, 0, 0, 0, 0)
	}
	const empty = "00000001 00000001 00000000 00000000 00000000"
	tests := []struct {
		name string
		into interface{ UnmarshalXDR(*xdr.Decoder) }
		in   []byte
		want error // nil if the message is valid
	}{
		{"address of 1024 bytes", new(address), long(1024), nil},
		{"address of 1025 bytes", new(address), long(1025), xdr.ErrLimit},
		{"address of 4 GiB", new(address), unhex(t, "ffffffff"), xdr.ErrLimit},
		{"netid of 1025 bytes", new(Mapping), append(make([]byte, 8), long(1025)...), xdr.ErrLimit},
		{"4096 mappings", new(mappings), list(4096, empty), nil},
		{"4097 mappings", new(mappings), list(4097, empty), xdr.ErrLimit},
		{"4096 ports", new(ports), list(4096, goldenPort), nil},
		{"4097 ports", new(ports), list(4097, goldenPort), xdr.ErrLimit},
		{"no boolean", new(done), unhex(t, "00000002"), xdr.ErrValue},
		{"list without boolean", new(mappings), unhex(t, "00000002"), xdr.ErrValue},
		{"port 65536", new(PortMapping), unhex(t, "000186a3 00000003 00000006 00010000"), xdr.ErrValue},
	}
	for _, tt := range tests {
		if err := decode(tt.into, tt.in); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
	var e xdr.Encoder
	m := Mapping{Addr: strings.Repeat("x", 1025)}
	if m.MarshalXDR(&e); !errors.Is(e.Err(), xdr.ErrLimit) {
		t.Errorf("address of 1025 bytes to send: got %v, want %v", e.Err(), xdr.ErrLimit)
	}
}

func FuzzMapping(f *testing.F) {
	f.Add(unhex(f, goldenMapping))
	f.Add(unhex(f, goldenPort))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, m := range []message{new(Mapping), new(PortMapping)} {
			if decode(m, b) != nil {
				continue
			}
			if got := encode(t, m); !bytes.Equal(got, b) {
				t.Errorf("got %x, want %x", got, b)
			}
		}
	})
}

func FuzzLists(f *testing.F) {
	f.Add(unhex(f, "00000001"+goldenMapping+"00000000"))
	f.Add(unhex(f, "00000001"+goldenPort+"00000001"+goldenPort+"00000000"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var l mappings
		if err := decode(&l, b); err == nil && len(l) > len(b)/24 {
			t.Errorf("%d mappings in %d bytes", len(l), len(b))
		}
		var p ports
		if err := decode(&p, b); err == nil && len(p) != (len(b)-4)/20 {
			t.Errorf("%d ports in %d bytes", len(p), len(b))
		}
	})
}

func TestProc(t *testing.T) {
	for p, want := range map[proc]string{procSet: "set", procGetVersAddr: "getversaddr", 8: "procedure 8"} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
