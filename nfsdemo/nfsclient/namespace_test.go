package nfsclient_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

func TestNamespace(t *testing.T) {
	overAll(t, func(t *testing.T, c *nfsclient.Client, root nfs3.FH) {
		ctx := t.Context()
		check := func(err error) {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
		}
		dir := must(c.Mkdir(ctx, root, "dir", nfs3.Sattr{}))(t)
		file := must(c.Create(ctx, root, "file", nfs3.CreateHow{}))(t)

		attr := must(c.Link(ctx, file.File, dir.File, "other"))(t)
		if attr.Attr.Nlink != 2 || attr.Attr.FileID != file.Attr.Attr.FileID {
			t.Errorf("link: %+v", attr)
		}
		if got := must(c.Lookup(ctx, dir.File, "other"))(t); got.File != file.File {
			t.Errorf("the link is %v, want %v", got.File, file.File)
		}
		check(c.Rename(ctx, dir.File, "other", root, "moved"))
		if got := must(c.Lookup(ctx, root, "moved"))(t); got.File != file.File {
			t.Errorf("what was moved is %v, want %v", got.File, file.File)
		}
		check(c.Remove(ctx, root, "moved"))
		if got := must(c.GetAttr(ctx, file.File))(t); got.Nlink != 1 {
			t.Errorf("%d links, want 1", got.Nlink)
		}
		check(c.Remove(ctx, root, "file"))
		if _, err := c.GetAttr(ctx, file.File); !errors.Is(err, nfs3.ErrStale) {
			t.Errorf("the handle of a removed file: %v", err)
		}
		check(c.Rmdir(ctx, root, "dir"))
		if _, err := c.Lookup(ctx, root, "dir"); !errors.Is(err, nfs3.ErrNoEnt) {
			t.Errorf("a removed directory: %v", err)
		}
	})
}

// TestSymlink: paths that fit in the call, and paths that go by chunk.
func TestSymlink(t *testing.T) {
	overAll(t, func(t *testing.T, c *nfsclient.Client, root nfs3.FH) {
		ctx := t.Context()
		for _, path := range []string{"x", "../up", strings.Repeat("long/", 200), strings.Repeat("p", 4095)} {
			name := fmt.Sprint("link", len(path))
			o := must(c.Symlink(ctx, root, name, path, nfs3.Sattr{}))(t)
			if o.Attr.Attr.Type != nfs3.TypeLnk {
				t.Errorf("%s: %+v", name, o.Attr)
			}
			if got := must(c.ReadLink(ctx, o.File))(t); got != path {
				t.Errorf("%s: got %.20q of %d bytes, want %.20q of %d", name, got, len(got), path, len(path))
			}
		}
		if _, err := c.Symlink(ctx, root, "link", strings.Repeat("p", 4096), nfs3.Sattr{}); !errors.Is(err, nfs3.ErrNameTooLong) {
			t.Errorf("path too long: %v", err)
		}
		if _, err := c.ReadLink(ctx, root); !errors.Is(err, nfs3.ErrInval) {
			t.Errorf("a directory: %v", err)
		}
	})
}

func TestMknod(t *testing.T) {
	overAll(t, func(t *testing.T, c *nfsclient.Client, root nfs3.FH) {
		null := nfs3.Specdata{Major: 1, Minor: 3}
		mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o604}}
		for _, tt := range []struct {
			kind nfs3.FileType
			rdev nfs3.Specdata
		}{{nfs3.TypeFIFO, nfs3.Specdata{}}, {nfs3.TypeSock, nfs3.Specdata{}}, {nfs3.TypeChr, null}, {nfs3.TypeBlk, null}} {
			o := must(c.Mknod(t.Context(), root, fmt.Sprint("node", tt.kind), tt.kind, null, mode))(t)
			if a := o.Attr.Attr; a.Type != tt.kind || a.Rdev != tt.rdev || a.Mode != 0o604 {
				t.Errorf("type %d: %+v", tt.kind, a)
			}
		}
		if _, err := c.Mknod(t.Context(), root, "dir", nfs3.TypeDir, null, mode); !errors.Is(err, nfs3.ErrBadType) {
			t.Errorf("a directory: %v", err)
		}
	})
}

// TestNamespaceErrors: errors say what failed, and on which file.
func TestNamespaceErrors(t *testing.T) {
	overAll(t, func(t *testing.T, c *nfsclient.Client, root nfs3.FH) {
		ctx := t.Context()
		must(c.Create(ctx, root, "file", nfs3.CreateHow{}))(t)
		dir := must(c.Mkdir(ctx, root, "dir", nfs3.Sattr{}))(t)
		_, linked := c.Link(ctx, dir.File, root, "new")
		for want, err := range map[string]error{
			"nfs: REMOVE none: NFS3ERR_NOENT": c.Remove(ctx, root, "none"),
			"nfs: REMOVE dir: NFS3ERR_ISDIR":  c.Remove(ctx, root, "dir"),
			"nfs: RMDIR file: NFS3ERR_NOTDIR": c.Rmdir(ctx, root, "file"),
			"nfs: RENAME none: NFS3ERR_NOENT": c.Rename(ctx, root, "none", root, "new"),
			"nfs: RENAME dir: NFS3ERR_INVAL":  c.Rename(ctx, root, "dir", dir.File, "below itself"),
			"nfs: LINK new: NFS3ERR_ISDIR":    linked,
		} {
			var e *nfsclient.Error
			if !errors.As(err, &e) || err.Error() != want {
				t.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

// TestReadLinkLong: a path longer than its buffer is an error over all transports, not only over
// those that cannot carry it.
func TestReadLinkLong(t *testing.T) {
	for name, connect := range transports {
		for n, good := range map[int]bool{4096: true, 4097: false, 1 << 20: false} {
			procs := make([]oncrpc.Procedure, nfs3.Procs)
			procs[nfs3.ProcReadLink].Handler = func(_ context.Context, c *oncrpc.Call) error {
				new(nfs3.ReadLinkArgs).UnmarshalXDR(c.Args)
				res := nfs3.ReadLinkRes{Path: strings.Repeat("x", n)}
				res.MarshalXDR(c.Results)
				return nil
			}
			conn := connect(t, serving(t, oncrpc.Program{Number: nfs3.Program, Version: nfs3.Version, Procedures: procs}))
			got, err := nfsclient.New(conn, oncrpc.AuthNone()).ReadLink(t.Context(), nfs3.FH{})
			if (err == nil) != good || good && len(got) != n {
				t.Errorf("%s: %d bytes of %d, %v", name, len(got), n, err)
			}
		}
	}
}
