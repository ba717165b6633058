package nfsserver_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestPostOpAttrs: procedures that change nothing return attributes, even if they fail.
func TestPostOpAttrs(t *testing.T) {
	w := newWorld(t)
	c := w.superuser(t)
	for _, tt := range []struct {
		name string
		proc nfs3.Proc
		args oncrpc.Marshaler
		res  results
		want nfs3.Status
		of   nfs3.FH
	}{
		{"LOOKUP", nfs3.ProcLookup, &nfs3.LookupArgs{What: at(w.dir, "inside")}, new(nfs3.LookupRes), nfs3.OK, w.dir},
		{"LOOKUP of nothing", nfs3.ProcLookup, &nfs3.LookupArgs{What: at(w.dir, "none")}, new(nfs3.LookupRes), nfs3.ErrNoEnt, w.dir},
		{"ACCESS", nfs3.ProcAccess, &nfs3.AccessArgs{File: w.fifo}, new(nfs3.AccessRes), nfs3.OK, w.fifo},
		{"READLINK", nfs3.ProcReadLink, &nfs3.ReadLinkArgs{File: w.symlink}, new(nfs3.ReadLinkRes), nfs3.OK, w.symlink},
		{"READLINK of a file", nfs3.ProcReadLink, &nfs3.ReadLinkArgs{File: w.file}, new(nfs3.ReadLinkRes), nfs3.ErrInval, w.file},
		{"READ", nfs3.ProcRead, &nfs3.ReadArgs{File: w.file}, new(nfs3.ReadRes), nfs3.OK, w.file},
		{"READ of a link", nfs3.ProcRead, &nfs3.ReadArgs{File: w.symlink}, new(nfs3.ReadRes), nfs3.ErrInval, w.symlink},
		{"READDIR", nfs3.ProcReadDir, &nfs3.ReadDirArgs{Dir: w.dir, Count: 1000}, new(nfs3.ReadDirRes), nfs3.OK, w.dir},
		{"READDIR into too little", nfs3.ProcReadDir, &nfs3.ReadDirArgs{Dir: w.dir}, new(nfs3.ReadDirRes), nfs3.ErrTooSmall, w.dir},
		{"READDIRPLUS", nfs3.ProcReadDirPlus, &nfs3.ReadDirPlusArgs{Dir: w.dir, MaxCount: 1000}, new(nfs3.ReadDirPlusRes), nfs3.OK, w.dir},
		{"FSSTAT", nfs3.ProcFSStat, &nfs3.FSStatArgs{Root: w.file}, new(nfs3.FSStatRes), nfs3.OK, w.file},
		{"FSINFO", nfs3.ProcFSInfo, &nfs3.FSInfoArgs{Root: w.file}, new(nfs3.FSInfoRes), nfs3.OK, w.file},
		{"PATHCONF", nfs3.ProcPathConf, &nfs3.PathConfArgs{File: w.symlink}, new(nfs3.PathConfRes), nfs3.OK, w.symlink},
		{"COMMIT", nfs3.ProcCommit, &nfs3.CommitArgs{File: w.file}, new(nfs3.CommitRes), nfs3.OK, w.file},
	} {
		if got := do(t, c, tt.proc, tt.args, tt.res); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
		want := attrOf(t, c, tt.of)
		got := postOpOf(t, tt.res)
		// Reading may change the access time, at the moment of the attributes or after it.
		got.Attr.Atime, want.Atime = nfs3.Time{}, nfs3.Time{}
		if got != nfs3.PostOpAttrOf(want) {
			t.Errorf("%s: got %+v, want %+v", tt.name, got, want)
		}
	}
}

// postOpOf returns the post_op_attr of the file, or the directory, that a procedure was called
// with.
func postOpOf(tb testing.TB, res results) nfs3.PostOpAttr {
	switch r := res.(type) {
	case *nfs3.LookupRes:
		return r.Dir
	case *nfs3.AccessRes:
		return r.Attr
	case *nfs3.ReadLinkRes:
		return r.Attr
	case *nfs3.ReadRes:
		return r.Attr
	case *nfs3.ReadDirRes:
		return r.Dir
	case *nfs3.ReadDirPlusRes:
		return r.Dir
	case *nfs3.FSStatRes:
		return r.Attr
	case *nfs3.FSInfoRes:
		return r.Attr
	case *nfs3.PathConfRes:
		return r.Attr
	case *nfs3.CommitRes:
		return r.Wcc.After
	}
	tb.Fatalf("%T has no attributes", res)
	return nfs3.PostOpAttr{}
}
