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

// dumps are lists of mounts, with their encoding if it is short.
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
			b := checkList(t, tt.res, mount3.DumpRes{Mounts: []mount3.Mount{{Host: "left over"}}}, tt.wire)
			list, _, err := oracle.ReadMountlist(bytes.NewReader(b))
			if err != nil {
				t.Fatalf("oracle: %v", err)
			}
			var seen []mount3.Mount
			for m := list; m != nil; m = m.MlNext {
				seen = append(seen, mount3.Mount{Host: m.MlHostname, Path: m.MlDirectory})
			}
			checkOracle(t, tt.res.Mounts, seen, func(w io.Writer) (int64, error) { return oracle.WriteMountlist(w, list) }, b)
		})
	}
}

func TestDumpResLimits(t *testing.T) {
	for name, m := range map[string]mount3.Mount{
		"host": {Host: strings.Repeat("h", mount3.MaxName+1)},
		"path": {Path: strings.Repeat("p", mount3.MaxPath+1)},
	} {
		checkLimit(t, name, mount3.DumpRes{Mounts: []mount3.Mount{m}}, func(e *xdr.Encoder) {
			e.Bool(true)
			e.String(m.Host, 1<<20)
			e.String(m.Path, 1<<20)
			e.Bool(false)
		})
	}
}

func FuzzDumpRes(f *testing.F) {
	var seeds []mount3.DumpRes
	for _, tt := range dumps {
		seeds = append(seeds, tt.res)
	}
	fuzzList(f, seeds)
}
