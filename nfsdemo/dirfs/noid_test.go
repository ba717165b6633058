//go:build linux

package dirfs

import (
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// TestNoID: the ID -1 means "unchanged" to the host and is no user's. Files made with it would be
// root's, including set-group-ID.
func TestNoID(t *testing.T) {
	needRoot(t)
	dir := tempDir(t)
	must(t, os.Chmod(dir, 0o777))
	f := newIn(t, Config{Path: dir})
	ctx, root := t.Context(), f.Root()
	set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o6777}}
	for _, c := range []*vfs.Cred{{UID: noID, GID: 1}, {UID: 1, GID: noID}} {
		for what, err := range map[string]error{
			"create": second(f.Create(ctx, c, root, "new", &nfs3.CreateHow{Set: set})),
			"mkdir":  second(f.Mkdir(ctx, c, root, "new", &set)),
			"mknod":  second(f.Mknod(ctx, c, root, "new", nfs3.TypeFIFO, nfs3.Specdata{}, &set)),
		} {
			if err != nfs3.ErrInval {
				t.Errorf("%s by %d of group %d: %v", what, c.UID, c.GID, err)
			}
		}
	}
	o, _, err := f.Create(ctx, somebody, root, "file", &nfs3.CreateHow{})
	must(t, err)
	if _, err := f.SetAttr(ctx, super, o.File, &nfs3.Sattr{GID: nfs3.Set32{Set: true, To: 0}}, nil); err != nil {
		t.Fatal(err)
	}
	before, err := f.GetAttr(ctx, o.File)
	must(t, err)
	c := &vfs.Cred{UID: somebody.UID, GID: somebody.GID, GIDs: []uint32{noID}}
	set.GID = nfs3.Set32{Set: true, To: noID}
	if _, err := f.SetAttr(ctx, c, o.File, &set, nil); err != nfs3.ErrInval {
		t.Errorf("setattr: %v", err)
	}
	if after, err := f.GetAttr(ctx, o.File); after != before || err != nil {
		t.Errorf("%+v, %v, want %+v", after, err, before)
	}
}
