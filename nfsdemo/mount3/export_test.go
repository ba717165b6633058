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

// exports are lists of exports, and how they look on the wire where that is short.
var exports = []struct {
	name string
	res  mount3.ExportRes
	wire string
}{
	{"none", mount3.ExportRes{}, "\x00\x00\x00\x00"},
	{"for everybody", mount3.ExportRes{Exports: []mount3.Export{{Path: "/srv"}}},
		"\x00\x00\x00\x01" + "\x00\x00\x00\x04/srv" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"},
	{"for some", mount3.ExportRes{Exports: []mount3.Export{{Path: "/a", Groups: []string{"::/0", "b"}}, {Path: "/"}}},
		"\x00\x00\x00\x01" + "\x00\x00\x00\x02/a\x00\x00" +
			"\x00\x00\x00\x01" + "\x00\x00\x00\x04::/0" + "\x00\x00\x00\x01" + "\x00\x00\x00\x01b\x00\x00\x00" + "\x00\x00\x00\x00" +
			"\x00\x00\x00\x01" + "\x00\x00\x00\x01/\x00\x00\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"},
	{"longest", mount3.ExportRes{Exports: []mount3.Export{
		{Path: "/" + strings.Repeat("p", mount3.MaxPath-1), Groups: []string{strings.Repeat("g", mount3.MaxName)}}}}, ""},
}

func TestExportRes(t *testing.T) {
	for _, tt := range exports {
		t.Run(tt.name, func(t *testing.T) {
			b, err := encode(&tt.res)
			if err != nil {
				t.Fatal(err)
			}
			if tt.wire != "" && string(b) != tt.wire {
				t.Errorf("got %x, want %x", b, tt.wire)
			}
			got := mount3.ExportRes{Exports: []mount3.Export{{Path: "left over"}}}
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
			list, _, err := oracle.ReadExports(bytes.NewReader(b))
			if err != nil {
				t.Fatalf("oracle: %v", err)
			}
			var seen []mount3.Export
			for x := list; x != nil; x = x.ExNext {
				e := mount3.Export{Path: x.ExDir}
				for g := x.ExGroups; g != nil; g = g.GrNext {
					e.Groups = append(e.Groups, g.GrName)
				}
				seen = append(seen, e)
			}
			if diff := cmp.Diff(tt.res.Exports, seen); diff != "" {
				t.Errorf("oracle (-want +got)\n%s", diff)
			}
			var again bytes.Buffer
			if _, err := oracle.WriteExports(&again, list); err != nil || !bytes.Equal(again.Bytes(), b) {
				t.Errorf("oracle: %v\n got %x\nwant %x", err, again.Bytes(), b)
			}
		})
	}
}

func TestExportResLimits(t *testing.T) {
	for name, x := range map[string]mount3.Export{
		"path":  {Path: strings.Repeat("p", mount3.MaxPath+1)},
		"group": {Groups: []string{strings.Repeat("g", mount3.MaxName+1)}},
	} {
		if _, err := encode(&mount3.ExportRes{Exports: []mount3.Export{x}}); !errors.Is(err, xdr.ErrLimit) {
			t.Errorf("%s: encode: got %v, want %v", name, err, xdr.ErrLimit)
		}
		var e xdr.Encoder
		e.Bool(true)
		e.String(x.Path, 1<<20)
		for _, g := range x.Groups {
			e.Bool(true)
			e.String(g, 1<<20)
		}
		e.Bool(false)
		e.Bool(false)
		if err := decode(new(mount3.ExportRes), e.Message().Inline); !errors.Is(err, xdr.ErrLimit) {
			t.Errorf("%s: decode: got %v, want %v", name, err, xdr.ErrLimit)
		}
	}
}

func FuzzExportRes(f *testing.F) {
	for _, tt := range exports {
		b, err := encode(&tt.res)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		var r mount3.ExportRes
		if decode(&r, in) == nil {
			if out, err := encode(&r); err != nil || !bytes.Equal(in, out) {
				t.Errorf("%v\n got %x\nwant %x", err, out, in)
			}
		}
	})
}
