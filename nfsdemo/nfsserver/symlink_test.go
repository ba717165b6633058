package nfsserver_test

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestSymlinkPaths: paths of every length, inside the call or by chunk, come back unchanged.
func TestSymlinkPaths(t *testing.T) {
	for _, mode := range []pipe.Mode{pipe.Inline, pipe.Chunked} {
		t.Run(mode.String(), func(t *testing.T) {
			w := newWorld(t)
			c := nfsOn(w.reach(t, mode), auth(t, 0))
			for _, tt := range []struct {
				name, path string
				want       nfs3.Status
			}{
				{"short", "x", nfs3.OK},
				{"up and away", "../../etc/passwd", nfs3.OK},
				{"no round-up", "four", nfs3.OK},
				{"1000 bytes", strings.Repeat("p", 1000), nfs3.OK},
				{"longest", strings.Repeat("/p", 2047) + "q", nfs3.OK},
				{"too long", strings.Repeat("p", 4097), nfs3.ErrNameTooLong},
				{"far too long", strings.Repeat("p", 1<<20), nfs3.ErrNameTooLong},
				{"empty", "", nfs3.ErrInval},
				{"NUL", "a\x00b", nfs3.ErrInval},
			} {
				var made nfs3.CreateRes
				before := attrOf(t, c, w.dir)
				if got := do(t, c, nfs3.ProcSymlink, &nfs3.SymlinkArgs{Where: at(w.dir, tt.name), Path: tt.path}, &made); got != tt.want {
					t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
				}
				if tt.want != nfs3.OK {
					if made.Dir.After.Attr != before {
						t.Errorf("%s: attributes %+v, want %+v", tt.name, made.Dir.After, before)
					}
					continue
				}
				if made.Attr.Attr.Type != nfs3.TypeLnk || made.Attr.Attr.Size != uint64(len(tt.path)) {
					t.Errorf("%s: %+v", tt.name, made.Attr)
				}
				for where, results := range map[string][][]byte{"in the reply": nil, "beside it": {make([]byte, 4096)}} {
					var got nfs3.ReadLinkRes
					err := c.Do(t.Context(), &oncrpc.Request{Procedure: uint32(nfs3.ProcReadLink), Args: &nfs3.ReadLinkArgs{File: made.File.FH}, Reply: &got,
						MaxReply: nfs3.ReadLinkResMax(4096), Results: results})
					if err != nil || got.Status != nfs3.OK || got.Path != tt.path || got.Attr.Attr.Type != nfs3.TypeLnk {
						t.Errorf("%s: READLINK, path %s: %v, %v, %.20q of %d bytes", tt.name, where, err, got.Status, got.Path, len(got.Path))
					}
				}
			}
		})
	}
}

// TestMknodTypes: which types of files MKNOD makes for which users.
func TestMknodTypes(t *testing.T) {
	w := newWorld(t)
	conn := w.reach(t, pipe.Inline)
	for _, tt := range []struct {
		kind nfs3.FileType
		uid  uint32
		want nfs3.Status
	}{
		{nfs3.TypeFIFO, 1000, nfs3.OK},
		{nfs3.TypeSock, 1000, nfs3.OK},
		{nfs3.TypeChr, 1000, nfs3.ErrPerm},
		{nfs3.TypeBlk, 1000, nfs3.ErrPerm},
		{nfs3.TypeChr, 0, nfs3.OK},
		{nfs3.TypeBlk, 0, nfs3.OK},
		{nfs3.TypeReg, 0, nfs3.ErrBadType},
		{nfs3.TypeDir, 0, nfs3.ErrBadType},
		{nfs3.TypeLnk, 0, nfs3.ErrBadType},
		{0, 0, nfs3.ErrBadType},
	} {
		c := nfsOn(conn, auth(t, tt.uid))
		name := "by " + string(rune('0'+tt.kind)) + string(rune('a'+tt.uid%7))
		var res nfs3.CreateRes
		if got := do(t, c, nfs3.ProcMknod, &nfs3.MknodArgs{Where: at(w.dir, name), Type: tt.kind, Rdev: nfs3.Specdata{Major: 8, Minor: 1}}, &res); got != tt.want {
			t.Errorf("type %d by %d: got %v, want %v", tt.kind, tt.uid, got, tt.want)
		}
		rdev := nfs3.Specdata{}
		if tt.kind == nfs3.TypeChr || tt.kind == nfs3.TypeBlk {
			rdev = nfs3.Specdata{Major: 8, Minor: 1}
		}
		if tt.want == nfs3.OK && (res.Attr.Attr.Type != tt.kind || res.Attr.Attr.Rdev != rdev || res.Attr.Attr.UID != tt.uid) {
			t.Errorf("type %d: %+v", tt.kind, res.Attr)
		}
	}
}
