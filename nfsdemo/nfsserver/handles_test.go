package nfsserver_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestHandles calls every procedure with handles of every kind, including invalid ones.
func TestHandles(t *testing.T) {
	// The results of invalid handles are the same for all procedures.
	bad := map[string]nfs3.Status{
		"stale": nfs3.ErrStale, "foreign": nfs3.ErrStale, "64 other bytes": nfs3.ErrStale,
		"empty": nfs3.ErrBadHandle, "short": nfs3.ErrBadHandle, "id alone": nfs3.ErrBadHandle, "64 bytes": nfs3.ErrBadHandle,
		"bit flipped": nfs3.ErrBadHandle, "cut by one byte": nfs3.ErrBadHandle,
	}
	type kinds struct{ dir, file, symlink, fifo nfs3.Status }
	all := kinds{}
	inDir := kinds{nfs3.OK, nfs3.ErrNotDir, nfs3.ErrNotDir, nfs3.ErrNotDir}
	data := kinds{nfs3.ErrIsDir, nfs3.OK, nfs3.ErrInval, nfs3.ErrInval}
	want := map[string]kinds{
		"GETATTR": all, "SETATTR": all, "ACCESS": all, "FSSTAT": all, "FSINFO": all, "PATHCONF": all,
		"READLINK": {nfs3.ErrInval, nfs3.ErrInval, nfs3.OK, nfs3.ErrInval},
		"READ":     data, "WRITE": data, "COMMIT": data,
		"LOOKUP": {nfs3.ErrNoEnt, nfs3.ErrNotDir, nfs3.ErrNotDir, nfs3.ErrNotDir},
		"CREATE": inDir, "CREATE exclusive": inDir, "MKDIR": inDir, "SYMLINK": inDir, "MKNOD": inDir, "MKNOD device": inDir,
		"REMOVE":      {nfs3.ErrNoEnt, nfs3.ErrNotDir, nfs3.ErrNotDir, nfs3.ErrNotDir},
		"RMDIR":       {nfs3.ErrNoEnt, nfs3.ErrNotDir, nfs3.ErrNotDir, nfs3.ErrNotDir},
		"RENAME from": {nfs3.ErrNoEnt, nfs3.ErrNotDir, nfs3.ErrNotDir, nfs3.ErrNotDir},
		"RENAME to":   inDir,
		"LINK":        {nfs3.ErrIsDir, nfs3.OK, nfs3.OK, nfs3.OK},
		"LINK into":   inDir,
		"READDIR":     inDir, "READDIRPLUS": inDir,
	}
	for _, op := range append(operations, linkInto(nfs3.FH{})) {
		t.Run(op.String(), func(t *testing.T) {
			k, ok := want[op.String()]
			if !ok {
				t.Fatal("no expectation")
			}
			for name, s := range map[string]nfs3.Status{"dir": k.dir, "file": k.file, "symlink": k.symlink, "fifo": k.fifo} {
				bad[name] = s
			}
			for kind, want := range bad {
				w := newWorld(t)
				if op.variant == " into" {
					op = linkInto(w.file)
				}
				c := w.superuser(t)
				if got := do(t, c, op.proc, op.args(w.handles()[kind], w.root, "name"), op.res()); got != want {
					t.Errorf("%s: got %v, want %v", kind, got, want)
				}
			}
		})
	}
}

// TestSecondHandle: LINK and RENAME check both handles.
func TestSecondHandle(t *testing.T) {
	w := newWorld(t)
	c := w.superuser(t)
	for kind, want := range map[string]nfs3.Status{"stale": nfs3.ErrStale, "foreign": nfs3.ErrStale, "empty": nfs3.ErrBadHandle, "bit flipped": nfs3.ErrBadHandle} {
		h := w.handles()[kind]
		if got := do(t, c, nfs3.ProcLink, &nfs3.LinkArgs{File: w.file, Where: at(h, "new")}, new(nfs3.LinkRes)); got != want {
			t.Errorf("LINK into %s: got %v, want %v", kind, got, want)
		}
		if got := do(t, c, nfs3.ProcRename, &nfs3.RenameArgs{From: at(w.root, "file"), To: at(h, "new")}, new(nfs3.RenameRes)); got != want {
			t.Errorf("RENAME to %s: got %v, want %v", kind, got, want)
		}
	}
}

// TestAcrossExports: RENAME and LINK between two file systems fail.
func TestAcrossExports(t *testing.T) {
	a, b := newWorld(t), newWorld(t)
	for _, readOnly := range []bool{false, true} {
		c := exportsClient(t, a, b, readOnly)
		var link nfs3.LinkRes
		if got := do(t, c, nfs3.ProcLink, &nfs3.LinkArgs{File: a.file, Where: at(b.root, "new")}, &link); got != nfs3.ErrXDev {
			t.Errorf("LINK: got %v, want %v", got, nfs3.ErrXDev)
		}
		if link.Attr.Attr != attrOf(t, c, a.file) || link.Dir.After.Attr != attrOf(t, c, b.root) {
			t.Errorf("LINK: attributes %+v", link)
		}
		var rename nfs3.RenameRes
		if got := do(t, c, nfs3.ProcRename, &nfs3.RenameArgs{From: at(a.root, "file"), To: at(b.root, "new")}, &rename); got != nfs3.ErrXDev {
			t.Errorf("RENAME: got %v, want %v", got, nfs3.ErrXDev)
		}
		if rename.From.After.Attr != attrOf(t, c, a.root) || rename.To.After.Attr != attrOf(t, c, b.root) {
			t.Errorf("RENAME: attributes %+v", rename)
		}
	}
}
