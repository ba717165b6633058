package oncrpc_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Encoded calls, by hand from RFC 5531 section 9, and from Linux 6.1's NFS client.
var callHeaders = []struct {
	name string
	wire string
	want oncrpc.CallHeader
}{
	{
		name: "by hand",
		wire: `12345678 00000000 00000002 20000001 00000007 00000009
		       00000063 00000005 0102030405 000000 00000064 00000000`,
		want: oncrpc.CallHeader{XID: 0x12345678, RPCVersion: 2, Program: 0x20000001, Version: 7, Procedure: 9,
			Cred: oncrpc.Auth{Flavor: 99, Body: []byte{1, 2, 3, 4, 5}}, Verf: oncrpc.Auth{Flavor: 100}},
	},
	{
		name: "Linux NULL",
		wire: `798ba1e8 00000000 00000002 000186a3 00000003 00000000 00000000 00000000 00000000 00000000`,
		want: oncrpc.CallHeader{XID: 0x798ba1e8, RPCVersion: 2, Program: 100003, Version: 3},
	},
	{
		name: "Linux GETATTR",
		wire: `7c8ba1e8 00000000 00000002 000186a3 00000003 00000001 00000001 0000001c
		       00000000 00000006 286e6f6e6529 0000 00000000 00000000 00000000 00000000 00000000`,
		want: oncrpc.CallHeader{XID: 0x7c8ba1e8, RPCVersion: 2, Program: 100003, Version: 3, Procedure: 1,
			Cred: mustSys(oncrpc.SysCred{Machine: "(none)"})},
	},
}

func mustAuthSys(c oncrpc.SysCred) oncrpc.ClientFlavor {
	f, err := oncrpc.AuthSys(c)
	if err != nil {
		panic(err)
	}
	return f
}

func mustSys(c oncrpc.SysCred) oncrpc.Auth {
	a, err := c.Auth()
	if err != nil {
		panic(err)
	}
	return a
}

func TestCallHeader(t *testing.T) {
	for _, tt := range callHeaders {
		t.Run(tt.name, func(t *testing.T) {
			wire := unhex(t, tt.wire)
			var e xdr.Encoder
			tt.want.Encode(&e)
			if got := e.Message().Inline; !bytes.Equal(got, wire) {
				t.Errorf("encoded\n got %x\nwant %x", got, wire)
			}
			var got oncrpc.CallHeader
			d := xdr.NewDecoder(wire)
			if err := got.Decode(d); err != nil || d.Finish() != nil {
				t.Errorf("decode: %v, %v", err, d.Finish())
			}
			if diff := cmp.Diff(tt.want, got, equateEmpty); diff != "" {
				t.Errorf("decoded (-want +got)\n%s", diff)
			}
		})
	}
}

// equateEmpty treats empty and nil bodies as equal.
var equateEmpty = cmp.Comparer(func(x, y []byte) bool { return bytes.Equal(x, y) })

// The answer depends on which part is missing.
func TestCallHeaderTruncated(t *testing.T) {
	const cred = 6 * 4
	for _, tt := range callHeaders {
		wire := unhex(t, tt.wire)
		credLen := len(tt.want.Cred.Body)
		verfAt := cred + 8 + xdr.RoundUp(credLen)
		for n := range wire {
			var h oncrpc.CallHeader
			err := h.Decode(xdr.NewDecoder(wire[:n]))
			var auth *oncrpc.AuthError
			switch {
			case n < cred:
				if !errors.Is(err, oncrpc.ErrGarbageArgs) {
					t.Errorf("%s, %d bytes: got %v, want ErrGarbageArgs", tt.name, n, err)
				}
			case n < verfAt:
				if !errors.As(err, &auth) || auth.Stat != oncrpc.AuthBadCred {
					t.Errorf("%s, %d bytes: got %v, want AUTH_BADCRED", tt.name, n, err)
				}
			default:
				if !errors.As(err, &auth) || auth.Stat != oncrpc.AuthBadVerf {
					t.Errorf("%s, %d bytes: got %v, want AUTH_BADVERF", tt.name, n, err)
				}
			}
		}
	}
}

// A client encodes its calls the same way.
func TestClientHeader(t *testing.T) {
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "(none)"})
	if err != nil {
		t.Fatal(err)
	}
	// GETATTR of the root, by Linux 6.1.
	want := unhex(t, `00000000 00000000 00000002 000186a3 00000003 00000001 00000001 0000001c
		00000000 00000006 286e6f6e6529 0000 00000000 00000000 00000000 00000000 00000000
		00000008 0100010007000000`)
	tr := &canned{reply: unhex(t, `7c8ba1e8 00000001 00000000 00000000 00000000 00000000 00000000`)}
	c := oncrpc.NewClient(tr, 100003, 3, cred)
	var status word
	handle := bulk{data: unhex(t, "0100010007000000")}
	if err := c.Call(t.Context(), 1, handle, &status); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(tr.call, want) {
		t.Errorf("call\n got %x\nwant %x", tr.call, want)
	}
}
