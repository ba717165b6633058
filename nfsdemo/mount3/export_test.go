package mount3_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	oracle "github.com/buildbarn/go-xdr/pkg/protocols/mount"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// exports are lists of exports, with their encoding if it is short.
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
			b := checkList(t, tt.res, mount3.ExportRes{Exports: []mount3.Export{{Path: "left over"}}}, tt.wire)
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
			checkOracle(t, tt.res.Exports, seen, func(w io.Writer) (int64, error) { return oracle.WriteExports(w, list) }, b)
		})
	}
}

func TestExportResLimits(t *testing.T) {
	for name, x := range map[string]mount3.Export{
		"path":  {Path: strings.Repeat("p", mount3.MaxPath+1)},
		"group": {Groups: []string{strings.Repeat("g", mount3.MaxName+1)}},
	} {
		checkLimit(t, name, mount3.ExportRes{Exports: []mount3.Export{x}}, func(e *xdr.Encoder) {
			e.Bool(true)
			e.String(x.Path, 1<<20)
			for _, g := range x.Groups {
				e.Bool(true)
				e.String(g, 1<<20)
			}
			e.Bool(false)
			e.Bool(false)
		})
	}
}

func FuzzExportRes(f *testing.F) {
	var seeds []mount3.ExportRes
	for _, tt := range exports {
		seeds = append(seeds, tt.res)
	}
	fuzzList(f, seeds)
}
