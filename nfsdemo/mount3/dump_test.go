package mount3_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	oracle "github.com/buildbarn/go-xdr/pkg/protocols/mount"
	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// dumps are lists of mounts, and how they look on the wire where that is short.
var dumps = []struct {
	name string
	res  mount3.DumpRes
	wire string
}{
	{"none", mount3.DumpRes{}, "\x00\x00\x00\x00"},
	{"one", mount3.DumpRes{Mounts: []mount3.Mount{{Host: "::1", Path: "/srv"}}},
		"\x00\x00\x00\x01" + "\x00\x00\x00\x03::1\x00" + "\x00\x00\x00\x04/srv" + "\x00\x00\x00\x00"},
	{"two", mount3.DumpRes{Mounts: []mount3.Mount{{Host: "", Path: ""}, {Host: "a", Path: "/"}}},
		"\x00\x00\x00\x01" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00" +
			"\x00\x00\x00\x01" + "\x00\x00\x00\x01a\x00\x00\x00" + "\x00\x00\x00\x01/\x00\x00\x00" + "\x00\x00\x00\x00"},
	{"longest", mount3.DumpRes{Mounts: []mount3.Mount{
		{Host: strings.Repeat("h", mount3.MaxName), Path: "/" + strings.Repeat("p", mount3.MaxPath-1)}}}, ""},
}

func TestDumpRes(t *testing.T) {
	for _, tt := range dumps {
		t.Run(tt.name, func(t *testing.T) {
			b, err := encode(&tt.res)
			if err != nil {
				t.Fatal(err)
			}
			if tt.wire != "" && string(b) != tt.wire {
				t.Errorf("got %x, want %x", b, tt.wire)
			}
			got := mount3.DumpRes{Mounts: []mount3.Mount{{Host: "left over"}}}
			if err := decode(&got, b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.res, got); diff != "" {
				t.Errorf("decoded (-want +got)\n%s", diff)
			}
			for i := range b {
				if decode(&got, b[:i]) == nil {
					t.Errorf("%d bytes of %d decode", i, len(b))
				}
			}
			list, _, err := oracle.ReadMountlist(bytes.NewReader(b))
			if err != nil {
				t.Fatalf("oracle: %v", err)
			}
			var seen []mount3.Mount
			for m := list; m != nil; m = m.MlNext {
				seen = append(seen, mount3.Mount{Host: m.MlHostname, Path: m.MlDirectory})
			}
			if diff := cmp.Diff(tt.res.Mounts, seen); diff != "" {
				t.Errorf("oracle (-want +got)\n%s", diff)
			}
			var again bytes.Buffer
			if _, err := oracle.WriteMountlist(&again, list); err != nil || !bytes.Equal(again.Bytes(), b) {
				t.Errorf("oracle: %v\n got %x\nwant %x", err, again.Bytes(), b)
			}
		})
	}
}

func TestDumpResLimits(t *testing.T) {
	for name, m := range map[string]mount3.Mount{
		"host": {Host: strings.Repeat("h", mount3.MaxName+1)},
		"path": {Path: strings.Repeat("p", mount3.MaxPath+1)},
	} {
		if _, err := encode(&mount3.DumpRes{Mounts: []mount3.Mount{m}}); !errors.Is(err, xdr.ErrLimit) {
			t.Errorf("%s: encode: got %v, want %v", name, err, xdr.ErrLimit)
		}
		var e xdr.Encoder
		e.Bool(true)
		e.String(m.Host, 1<<20)
		e.String(m.Path, 1<<20)
		e.Bool(false)
		if err := decode(new(mount3.DumpRes), e.Message().Inline); !errors.Is(err, xdr.ErrLimit) {
			t.Errorf("%s: decode: got %v, want %v", name, err, xdr.ErrLimit)
		}
	}
}

func FuzzDumpRes(f *testing.F) {
	for _, tt := range dumps {
		b, err := encode(&tt.res)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var r mount3.DumpRes
		if decode(&r, in) == nil {
			if out, err := encode(&r); err != nil || !bytes.Equal(in, out) {
				t.Errorf("%v\n got %x\nwant %x", err, out, in)
			}
		}
	})
}
