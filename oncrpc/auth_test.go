package oncrpc_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

func gids(n int) []uint32 {
	var g []uint32
	for i := range uint32(n) {
		g = append(g, 1000+i)
	}
	return g
}

func TestSysCred(t *testing.T) {
	for _, tt := range []struct {
		name string
		cred oncrpc.SysCred
		wire string // if it is short
		err  error
	}{
		{"Linux", oncrpc.SysCred{Machine: "(none)"}, "00000000 00000006 286e6f6e6529 0000 00000000 00000000 00000000", nil},
		{"by hand", oncrpc.SysCred{Stamp: 0xfeedbeef, Machine: "x", UID: 1, GID: 2, GIDs: []uint32{3, 0xffffffff}},
			"feedbeef 00000001 78 000000 00000001 00000002 00000002 00000003 ffffffff", nil},
		{"no machine name", oncrpc.SysCred{UID: 1}, "00000000 00000000 00000001 00000000 00000000", nil},
		{"16 groups", oncrpc.SysCred{GIDs: gids(16)}, "", nil},
		{"17 groups", oncrpc.SysCred{GIDs: gids(17)}, "", xdr.ErrLimit},
		{"longest machine name", oncrpc.SysCred{Machine: strings.Repeat("m", 255), GIDs: gids(16)}, "", nil},
		{"machine name too long", oncrpc.SysCred{Machine: strings.Repeat("m", 256)}, "", xdr.ErrLimit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, err := tt.cred.Auth()
			if !errors.Is(err, tt.err) {
				t.Fatalf("Auth: got %v, want %v", err, tt.err)
			}
			if err != nil {
				return
			}
			if a.Flavor != oncrpc.FlavorSys || len(a.Body) > oncrpc.MaxAuthBody {
				t.Errorf("flavour %d, %d bytes", a.Flavor, len(a.Body))
			}
			if want := unhex(t, tt.wire); tt.wire != "" && !bytes.Equal(a.Body, want) {
				t.Errorf("body\n got %x\nwant %x", a.Body, want)
			}
			got := oncrpc.SysCred{Machine: "left over", GIDs: gids(5)}
			if err := got.Decode(a.Body); err != nil {
				t.Fatal(err)
			}
			want := tt.cred
			want.Machine = "" // not kept
			if diff := cmp.Diff(want.GIDs, got.GIDs[:len(got.GIDs):len(got.GIDs)], cmp.Comparer(slices.Equal[[]uint32])); diff != "" {
				t.Errorf("groups (-want +got)\n%s", diff)
			}
			want.GIDs, got.GIDs = nil, nil
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("decoded (-want +got)\n%s", diff)
			}
			for n := range a.Body {
				if err := got.Decode(a.Body[:n]); err == nil {
					t.Errorf("%d of %d bytes decode", n, len(a.Body))
				}
			}
			if err := got.Decode(append(a.Body, 0, 0, 0, 0)); !errors.Is(err, xdr.ErrTrailing) {
				t.Errorf("with bytes left over: got %v, want ErrTrailing", err)
			}
		})
	}
}

func TestSysCredDecodeLimits(t *testing.T) {
	body := func(machine, groups int) []byte {
		var e xdr.Encoder
		e.Uint32(0)
		e.Opaque(make([]byte, machine), 1000)
		e.Uint32(0)
		e.Uint32(0)
		e.Uint32(uint32(groups))
		for range groups {
			e.Uint32(1)
		}
		return e.Message().Inline
	}
	for _, tt := range []struct {
		machine, groups int
		want            error
	}{{255, 16, nil}, {256, 0, xdr.ErrLimit}, {0, 17, xdr.ErrLimit}} {
		var c oncrpc.SysCred
		if err := c.Decode(body(tt.machine, tt.groups)); !errors.Is(err, tt.want) {
			t.Errorf("machine name of %d, %d groups: got %v, want %v", tt.machine, tt.groups, err, tt.want)
		}
	}
	var c oncrpc.SysCred
	if err := c.Decode(unhex(t, "00000000 00000001 78 000001 00000000 00000000 00000000")); !errors.Is(err, xdr.ErrPadding) {
		t.Errorf("round-up of the machine name: got %v, want ErrPadding", err)
	}
	if err := c.Decode(unhex(t, "00000000 00000000 00000000 00000000 ffffffff")); !errors.Is(err, xdr.ErrLimit) {
		t.Errorf("4 billion groups: got %v, want ErrLimit", err)
	}
}

// Decoding into the same SysCred does not allocate.
func TestSysCredAllocations(t *testing.T) {
	a := mustSys(oncrpc.SysCred{Machine: "some.machine", GIDs: gids(16)})
	var c oncrpc.SysCred
	if n := testing.AllocsPerRun(100, func() {
		if err := c.Decode(a.Body); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
