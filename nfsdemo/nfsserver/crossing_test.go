package nfsserver_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// TestCrossMnt: from the mount of one export, clients enter the exports below and come back. Each
// has its own fsid and its own rules.
func TestCrossMnt(t *testing.T) {
	outer, inner, deep, closed := newWorld(t), newWorld(t), newWorld(t), newWorld(t)
	none := []nfsserver.Rule{{Squash: nfsserver.SquashNone}}
	exports := []nfsserver.Export{
		{Path: "/srv/dir/inside/deep", FS: deep.fs, Rules: none},
		{Path: "/srv", FS: outer.fs, Rules: none, CrossMnt: true},
		{Path: "/srv/dir/inside", FS: inner.fs, Rules: none, CrossMnt: true},
		{Path: "/srv/closed", FS: closed.fs,
			Rules: []nfsserver.Rule{{Clients: prefixes("10.0.0.0/8")}}},
	}
	s, rpc := counted(t, nfsserver.Config{Exports: exports})
	c := nfsOn(pipe.NewFrom(rpc, pipe.Inline, peer("192.0.2.1", 700)), auth(t, 0))
	look := func(dir nfs3.FH, name string) nfs3.LookupRes {
		t.Helper()
		var res nfs3.LookupRes
		do(t, c, nfs3.ProcLookup, &nfs3.LookupArgs{What: at(dir, name)}, &res)
		return res
	}
	expect := func(what string, dir nfs3.FH, name string, want nfs3.FH, of *world) {
		t.Helper()
		r := look(dir, name)
		if r.Status != nfs3.OK || r.File != want || r.Attr.Attr.FSID != of.fs.ID() || !r.Dir.Present {
			t.Errorf("%s: %+v", what, r)
		}
	}
	expect("into what is mounted", outer.dir, "inside", inner.root, inner)
	expect("back", inner.root, "..", outer.dir, outer)
	expect("another name", outer.dir, ".", outer.dir, outer)
	expect("the same name elsewhere", inner.dir, "inside", inner.inside, inner)
	expect("further on", inner.root, "deep", deep.root, deep)
	expect("back from there", deep.root, "..", inner.root, inner)
	expect("the root of all", outer.root, "..", outer.root, outer)
	if r := look(outer.root, "closed"); r.Status != nfs3.ErrAcces {
		t.Errorf("into what is for others: %v", r.Status)
	}
	// Without the export, clients see the directory under its mount point.
	if err := s.SetExports(exports[1:2]); err != nil {
		t.Fatal(err)
	}
	expect("nothing is mounted", outer.dir, "inside", outer.inside, outer)
	exports[1].CrossMnt = false
	if err := s.SetExports(exports); err != nil {
		t.Fatal(err)
	}
	expect("without crossmnt", outer.dir, "inside", outer.inside, outer)
}
