package gateway

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// seeds are calls of all kinds.
func seeds(tb testing.TB) [][]byte {
	h := nfs3.FH{}
	sys, gss := rootCred(tb), oncrpc.Auth{Flavor: oncrpc.FlavorGSS, Body: []byte("gss")}
	return [][]byte{
		message(nfsCall(1, nfs3.ProcNull, gss), nil),
		message(nfsCall(2, nfs3.ProcRead, sys), &nfs3.ReadArgs{File: h, Count: 1 << 31}),
		message(nfsCall(3, nfs3.ProcReadLink, sys), &nfs3.ReadLinkArgs{File: h}),
		message(nfsCall(4, nfs3.ProcWrite, sys), &nfs3.WriteArgs{File: h, Count: 5, Data: [][]byte{[]byte("fives")}}),
		message(nfsCall(5, nfs3.ProcSymlink, sys), &nfs3.SymlinkArgs{Where: nfs3.DirOp{Name: "n"}, Path: "path"}),
		message(nfsCall(6, nfs3.ProcReadDir, sys), &nfs3.ReadDirArgs{Count: 99}),
		message(nfsCall(7, nfs3.ProcReadDirPlus, sys), &nfs3.ReadDirPlusArgs{MaxCount: 1 << 30}),
		message(nfsCall(8, 99, sys), nil),
	}
}

// nowhere is a Dial that is never called.
func nowhere(context.Context) (oncrpc.Transport, error) { return nil, errors.New("nowhere") }

// FuzzLayOut: however a call travels, its bytes stay the same, except for a count that is too
// large, and its reply is bounded.
func FuzzLayOut(f *testing.F) {
	for _, p := range seeds(f) {
		f.Add(p)
	}
	g, err := New(Config{Dial: nowhere, MaxReply: 8 << 10})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { g.Close() })
	f.Fuzz(func(t *testing.T, p []byte) {
		was := bytes.Clone(p)
		c := &call{g: g}
		c.layOut(p)
		got := c.Call.AppendTo(nil)
		if !bytes.Equal(got, p) || c.Call.Len() != len(p) {
			t.Errorf("%x travels as %x", p, got)
		}
		for i := range was {
			if was[i] != p[i] {
				if at := len(p) - 4; i < at || binary.BigEndian.Uint32(p[at:]) != 8<<10 || binary.BigEndian.Uint32(was[at:]) < 8<<10 {
					t.Fatalf("%x was changed to %x", was, p)
				}
			}
		}
		if c.MaxReply <= 0 || c.MaxReply > g.cfg.MaxMessage() || c.landing < 0 || c.landing > g.cfg.MaxReply {
			t.Errorf("%x: room for a reply of %d bytes and data of %d", p, c.MaxReply, c.landing)
		}
	})
}

// Every truncation of a call with bulk data is laid out as a whole, without what was cut off.
func TestLayOutTruncated(t *testing.T) {
	g, err := New(Config{Dial: nowhere})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, p := range seeds(t) {
		for n := range p {
			c := &call{g: g}
			c.layOut(p[:n])
			if got := c.Call.AppendTo(nil); !bytes.Equal(got, p[:n]) || len(c.Call.Bulk) > 0 {
				t.Errorf("%x travels as %x, with %d pieces of bulk data", p[:n], got, len(c.Call.Bulk))
			}
		}
	}
}

// FuzzLanded: whatever a server returns, data that arrived by chunk is put after its length, and no
// more than arrived.
func FuzzLanded(f *testing.F) {
	var e xdr.Encoder
	words{1, 1, 0, 0, 0, 0}.MarshalXDR(&e)
	head := bytes.Clone(e.Message().Inline)
	f.Add(append(bytes.Clone(head), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 5), 5, true)
	f.Add(append(bytes.Clone(head), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5), 8, false)
	f.Add(append(bytes.Clone(head), 0, 0, 0, 13), 0, false)
	f.Add([]byte{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, 0, true)
	f.Fuzz(func(t *testing.T, inline []byte, n int, read bool) {
		c := &call{g: &Gateway{}, session: &session{ctx: t.Context()}, landing: 100, proc: nfs3.ProcReadLink}
		if read {
			c.proc = nfs3.ProcRead
		}
		n = min(max(n, 0), c.landing)
		data := bytes.Repeat([]byte{0xdd}, c.landing)
		c.Reply.Reset(inline, []xdr.Chunk{{Position: xdr.Floating, Len: n, Data: data[:n]}})
		c.unavailable()
		if !c.landed() {
			return
		}
		it := c.item[0]
		at := it.Position
		if at < 4 || at > len(inline) || it.Len > n || it.Len == 0 || int(binary.BigEndian.Uint32(inline[at-4:])) != it.Len {
			t.Fatalf("item of %d bytes at %d in %x, with %d that arrived", it.Len, at, inline, n)
		}
		m := xdr.Message{Inline: inline, Bulk: c.item[:]}
		want := append(append(append(bytes.Clone(inline[:at]), data[:it.Len]...), make([]byte, xdr.PadLen(it.Len))...), inline[at:]...)
		if got := m.AppendTo(nil); !bytes.Equal(got, want) {
			t.Errorf("got %x, want %x", got, want)
		}
	})
}
