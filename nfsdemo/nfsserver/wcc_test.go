package nfsserver_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestWcc: the wcc_data of procedures that change something agrees with GETATTR before and after.
func TestWcc(t *testing.T) {
	for _, tt := range []struct {
		name string
		proc nfs3.Proc
		args func(w *world) oncrpc.Marshaler
		res  results
		of   func(w *world) []nfs3.FH // the files that the wcc_data describes
		want nfs3.Status
	}{
		{"SETATTR", nfs3.ProcSetAttr, func(w *world) oncrpc.Marshaler {
			return &nfs3.SetAttrArgs{File: w.file, Set: nfs3.Sattr{Size: nfs3.Set64{Set: true, To: 1000}}}
		}, new(nfs3.SetAttrRes), ofFile, nfs3.OK},
		{"SETATTR guarded", nfs3.ProcSetAttr, func(w *world) oncrpc.Marshaler {
			return &nfs3.SetAttrArgs{File: w.file, Set: nfs3.Sattr{Size: nfs3.Set64{Set: true, To: 1000}}, Guard: true}
		}, new(nfs3.SetAttrRes), ofFile, nfs3.ErrNotSync},
		{"WRITE", nfs3.ProcWrite, func(w *world) oncrpc.Marshaler {
			return &nfs3.WriteArgs{File: w.file, Offset: 3, Count: 5, Data: [][]byte{[]byte("bytes")}}
		}, new(nfs3.WriteRes), ofFile, nfs3.OK},
		{"WRITE too far", nfs3.ProcWrite, func(w *world) oncrpc.Marshaler {
			return &nfs3.WriteArgs{File: w.file, Offset: 1<<64 - 1, Count: 5, Data: [][]byte{[]byte("bytes")}}
		}, new(nfs3.WriteRes), ofFile, nfs3.ErrFBig},
		{"WRITE of too much", nfs3.ProcWrite, func(w *world) oncrpc.Marshaler {
			return &nfs3.WriteArgs{File: w.file, Count: 1<<20 + 1, Data: [][]byte{make([]byte, 1<<20+1)}}
		}, new(nfs3.WriteRes), ofFile, nfs3.OK},
		{"CREATE", nfs3.ProcCreate, func(w *world) oncrpc.Marshaler {
			return &nfs3.CreateArgs{Where: at(w.dir, "new")}
		}, new(nfs3.CreateRes), ofDir, nfs3.OK},
		{"CREATE of what is there", nfs3.ProcCreate, func(w *world) oncrpc.Marshaler {
			return &nfs3.CreateArgs{Where: at(w.dir, "inside"), How: nfs3.CreateHow{Mode: nfs3.Guarded}}
		}, new(nfs3.CreateRes), ofDir, nfs3.ErrExist},
		{"MKDIR", nfs3.ProcMkdir, func(w *world) oncrpc.Marshaler {
			return &nfs3.MkdirArgs{Where: at(w.dir, "new")}
		}, new(nfs3.CreateRes), ofDir, nfs3.OK},
		{"SYMLINK", nfs3.ProcSymlink, func(w *world) oncrpc.Marshaler {
			return &nfs3.SymlinkArgs{Where: at(w.dir, "new"), Path: "path"}
		}, new(nfs3.CreateRes), ofDir, nfs3.OK},
		{"MKNOD", nfs3.ProcMknod, func(w *world) oncrpc.Marshaler {
			return &nfs3.MknodArgs{Where: at(w.dir, "new"), Type: nfs3.TypeSock}
		}, new(nfs3.CreateRes), ofDir, nfs3.OK},
		{"MKNOD of what is there", nfs3.ProcMknod, func(w *world) oncrpc.Marshaler {
			return &nfs3.MknodArgs{Where: at(w.dir, "inside"), Type: nfs3.TypeSock}
		}, new(nfs3.CreateRes), ofDir, nfs3.ErrExist},
		{"REMOVE", nfs3.ProcRemove, func(w *world) oncrpc.Marshaler {
			return &nfs3.RemoveArgs{What: at(w.dir, "inside")}
		}, new(nfs3.RemoveRes), ofDir, nfs3.OK},
		{"REMOVE of a directory", nfs3.ProcRemove, func(w *world) oncrpc.Marshaler {
			return &nfs3.RemoveArgs{What: at(w.root, "dir")}
		}, new(nfs3.RemoveRes), ofRoot, nfs3.ErrIsDir},
		{"RMDIR of one that is not empty", nfs3.ProcRmdir, func(w *world) oncrpc.Marshaler {
			return &nfs3.RemoveArgs{What: at(w.root, "dir")}
		}, new(nfs3.RemoveRes), ofRoot, nfs3.ErrNotEmpty},
		{"RMDIR of a file", nfs3.ProcRmdir, func(w *world) oncrpc.Marshaler {
			return &nfs3.RemoveArgs{What: at(w.dir, "inside")}
		}, new(nfs3.RemoveRes), ofDir, nfs3.ErrNotDir},
		{"RENAME", nfs3.ProcRename, func(w *world) oncrpc.Marshaler {
			return &nfs3.RenameArgs{From: at(w.dir, "inside"), To: at(w.root, "outside")}
		}, new(nfs3.RenameRes), ofDirAndRoot, nfs3.OK},
		{"RENAME over a file", nfs3.ProcRename, func(w *world) oncrpc.Marshaler {
			return &nfs3.RenameArgs{From: at(w.dir, "inside"), To: at(w.root, "file")}
		}, new(nfs3.RenameRes), ofDirAndRoot, nfs3.OK},
		{"RENAME within a directory", nfs3.ProcRename, func(w *world) oncrpc.Marshaler {
			return &nfs3.RenameArgs{From: at(w.dir, "inside"), To: at(w.dir, "other")}
		}, new(nfs3.RenameRes), func(w *world) []nfs3.FH { return []nfs3.FH{w.dir, w.dir} }, nfs3.OK},
		{"RENAME of nothing", nfs3.ProcRename, func(w *world) oncrpc.Marshaler {
			return &nfs3.RenameArgs{From: at(w.dir, "none"), To: at(w.root, "outside")}
		}, new(nfs3.RenameRes), ofDirAndRoot, nfs3.ErrNoEnt},
		{"LINK", nfs3.ProcLink, func(w *world) oncrpc.Marshaler {
			return &nfs3.LinkArgs{File: w.file, Where: at(w.dir, "new")}
		}, new(nfs3.LinkRes), ofDir, nfs3.OK},
		{"LINK to what is there", nfs3.ProcLink, func(w *world) oncrpc.Marshaler {
			return &nfs3.LinkArgs{File: w.file, Where: at(w.dir, "inside")}
		}, new(nfs3.LinkRes), ofDir, nfs3.ErrExist},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			c := w.superuser(t)
			var before []nfs3.Fattr
			for _, h := range tt.of(w) {
				before = append(before, attrOf(t, c, h))
			}
			if got := do(t, c, tt.proc, tt.args(w), tt.res); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
			wcc := wccOf(t, tt.res)
			if len(wcc) != len(before) {
				t.Fatalf("%d times wcc_data, want %d", len(wcc), len(before))
			}
			for i, h := range tt.of(w) {
				after := attrOf(t, c, h)
				if got := wcc[i].After; got != nfs3.PostOpAttrOf(after) {
					t.Errorf("after: got %+v, want %+v", got, after)
				}
				if got := wcc[i].Before; got.Present && got != before[i].Pre() || tt.want == nfs3.OK && !got.Present {
					t.Errorf("before: got %+v, want %+v", got, before[i].Pre())
				}
				if changed := after.Ctime != before[i].Ctime; changed != (tt.want == nfs3.OK) {
					t.Errorf("changed: %v, with status %v", changed, tt.want)
				}
			}
			if r, ok := tt.res.(*nfs3.LinkRes); ok && r.Attr.Attr != attrOf(t, c, w.file) {
				t.Errorf("attributes of the file: %+v", r.Attr)
			}
		})
	}
}

func ofFile(w *world) []nfs3.FH       { return []nfs3.FH{w.file} }
func ofDir(w *world) []nfs3.FH        { return []nfs3.FH{w.dir} }
func ofRoot(w *world) []nfs3.FH       { return []nfs3.FH{w.root} }
func ofDirAndRoot(w *world) []nfs3.FH { return []nfs3.FH{w.dir, w.root} }
