package nfsserver_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// world is a file system with one file of each kind in its root, made without the server: "file",
// "dir" with "inside" in it, "link", "fifo".
type world struct {
	fs                                     *memfs.FS
	root, file, dir, inside, symlink, fifo nfs3.FH
	stale                                  nfs3.FH // of a removed file
	foreign                                nfs3.FH // the root of a file system that is not exported
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	w := &world{fs: newFS(tb), foreign: newFS(tb).Root()}
	ctx, su := tb.Context(), &vfs.Cred{}
	mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o777}}
	made := func(o vfs.Object, _ nfs3.WccData, err error) nfs3.FH {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return o.File
	}
	w.root = w.fs.Root()
	w.file = made(w.fs.Create(ctx, su, w.root, "file", &nfs3.CreateHow{Set: mode}))
	w.dir = made(w.fs.Mkdir(ctx, su, w.root, "dir", &mode))
	w.inside = made(w.fs.Create(ctx, su, w.dir, "inside", &nfs3.CreateHow{Set: mode}))
	w.symlink = made(w.fs.Symlink(ctx, su, w.root, "link", "file", &mode))
	w.fifo = made(w.fs.Mknod(ctx, su, w.root, "fifo", nfs3.TypeFIFO, nfs3.Specdata{}, &mode))
	w.stale = made(w.fs.Create(ctx, su, w.root, "gone", &nfs3.CreateHow{Set: mode}))
	if _, err := w.fs.Remove(ctx, su, w.root, "gone"); err != nil {
		tb.Fatal(err)
	}
	return w
}

// handles are the handles that a client may send, by kind.
func (w *world) handles() map[string]nfs3.FH {
	ours := append([]byte(nil), w.root.Bytes()[:8]...)
	flipped := append([]byte(nil), w.file.Bytes()...)
	flipped[len(flipped)-1] ^= 1
	return map[string]nfs3.FH{
		"root":            w.root,
		"file":            w.file,
		"dir":             w.dir,
		"symlink":         w.symlink,
		"fifo":            w.fifo,
		"stale":           w.stale,
		"foreign":         w.foreign,
		"empty":           {},
		"short":           nfs3.MakeFH(ours[:7]),
		"id alone":        nfs3.MakeFH(ours),
		"64 bytes":        nfs3.MakeFH(append(ours, make([]byte, nfs3.FHSize-8)...)),
		"64 other bytes":  nfs3.MakeFH(make([]byte, nfs3.FHSize)),
		"bit flipped":     nfs3.MakeFH(flipped),
		"cut by one byte": nfs3.MakeFH(w.file.Bytes()[:w.file.Len()-1]),
	}
}

// export returns the usual export of a file system in tests.
func export(fs vfs.FS) nfsserver.Export {
	return nfsserver.Export{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}
}

// reach serves the world and returns a connection.
func (w *world) reach(tb testing.TB, m pipe.Mode) *pipe.Conn {
	tb.Helper()
	return pipe.New(serve(tb, nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}}), m)
}

// superuser returns a client that calls as user 0.
func (w *world) superuser(tb testing.TB) *oncrpc.Client {
	tb.Helper()
	return nfsOn(w.reach(tb, pipe.Chunked), auth(tb, 0))
}
