package nfsfs_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

func TestOpenFile(t *testing.T) {
	conn := pipe.New(server(t, nil), pipe.Chunked)
	f := mount(t, conn, 0, nfsfs.Config{})
	user := mount(t, conn, 1000, nfsfs.Config{})
	ctx := t.Context()
	reset := func() {
		for _, name := range []string{"file", "secret", "readonly", "mine", "new", "dir", "link", "dangling", "target", "fifo"} {
			ok(t, f.RemoveAll(ctx, name))
		}
		for _, name := range []string{"file", "secret", "readonly", "mine"} {
			write(t, f, name, "text")
		}
		ok(t, f.Chmod(ctx, "", 0o777), f.Mkdir(ctx, "dir", 0o755), f.Symlink(ctx, "file", "link"), f.Symlink(ctx, "target", "dangling"),
			f.Mknod(ctx, "fifo", nfs3.TypeFIFO, nfs3.Specdata{}, 0o666), f.Chmod(ctx, "file", 0o666),
			f.Chmod(ctx, "secret", 0o600), f.Chmod(ctx, "readonly", 0o644), f.Chmod(ctx, "mine", 0o200), f.Chown(ctx, "mine", 1000, -1))
	}
	const (
		r, w, rw          = os.O_RDONLY, os.O_WRONLY, os.O_RDWR
		creat, excl, trun = os.O_CREATE, os.O_EXCL, os.O_TRUNC
	)
	for _, tt := range []struct {
		name string
		flag int
		err  error
		size int64  // at the end, with 1 byte written if requested
		made string // the file that exists then
	}{
		{name: "file", flag: r, size: 4},
		{name: "file", flag: w, size: 4},
		{name: "file", flag: rw | trun, size: 1},
		{name: "file", flag: w | os.O_APPEND, size: 5},
		{name: "file", flag: w | creat, size: 4},
		{name: "file", flag: w | creat | excl, err: fs.ErrExist},
		{name: "file", flag: w | creat | trun, size: 1},
		{name: "file", flag: w | os.O_SYNC, size: 4},
		{name: "file/", flag: r, err: nfs3.ErrNotDir},
		{name: "file/", flag: rw | creat, err: nfs3.ErrNotDir},
		{name: "file", flag: 3, err: fs.ErrInvalid},
		{name: "file", flag: 1 << 30, err: fs.ErrInvalid},
		{name: "new", flag: r, err: fs.ErrNotExist},
		{name: "new", flag: w | trun, err: fs.ErrNotExist},
		{name: "new", flag: r | creat, made: "new"},
		{name: "new", flag: rw | creat, size: 1, made: "new"},
		{name: "new", flag: rw | creat | excl, size: 1, made: "new"},
		{name: "new/", flag: rw | creat, err: fs.ErrNotExist},
		{name: "new/", flag: rw | creat | excl, err: nfs3.ErrIsDir},
		{name: "new/x", flag: rw | creat, err: fs.ErrNotExist},
		{name: "dir/../new", flag: rw | creat, size: 1, made: "new"},
		{name: "link", flag: rw, size: 4},
		{name: "link", flag: rw | creat, size: 4},
		{name: "link", flag: rw | creat | excl, err: fs.ErrExist},
		{name: "dangling", flag: rw, err: fs.ErrNotExist},
		{name: "dangling", flag: rw | creat, size: 1, made: "target"},
		{name: "dangling", flag: rw | creat | excl, err: fs.ErrExist},
		{name: "dir", flag: w, err: nfs3.ErrIsDir},
		{name: "dir", flag: r | creat, err: nfs3.ErrIsDir},
		{name: "", flag: rw | creat, err: nfs3.ErrIsDir},
		{name: "", flag: rw | creat | excl, err: fs.ErrInvalid},
		{name: "fifo", flag: r, err: fs.ErrInvalid},
		{name: "secret", flag: r, err: fs.ErrPermission},
		{name: "readonly", flag: r, size: 4},
		{name: "readonly", flag: rw, err: fs.ErrPermission},
		{name: "readonly", flag: w | creat | trun, err: fs.ErrPermission},
		{name: "mine", flag: w, size: 4},
		{name: "mine", flag: rw, err: fs.ErrPermission},
	} {
		reset()
		// Whoever creates a file may use it, even without permissions.
		o, err := user.OpenFile(ctx, tt.name, tt.flag, 0o004)
		if !errors.Is(err, tt.err) || (err == nil) != (tt.err == nil) {
			t.Errorf("%q, %#x: got %v, want %v", tt.name, tt.flag, err, tt.err)
		}
		if err != nil {
			continue
		}
		if tt.flag&(w|rw) != 0 {
			if _, err := o.Write([]byte("x")); err != nil {
				t.Errorf("%q, %#x: write: %v", tt.name, tt.flag, err)
			}
		}
		if i := must(o.Stat())(t); i.Size() != tt.size {
			t.Errorf("%q, %#x: %d bytes, want %d", tt.name, tt.flag, i.Size(), tt.size)
		}
		if err := o.Close(); err != nil {
			t.Errorf("%q, %#x: close: %v", tt.name, tt.flag, err)
		}
		if tt.made != "" {
			i := must(f.Lstat(ctx, tt.made))(t)
			if age := i.ModTime(); i.Mode() != 0o004 || i.Attr().UID != 1000 || age.Year() < 2020 {
				t.Errorf("%q, %#x: made %v of %d, %v", tt.name, tt.flag, i, i.Attr().UID, age)
			}
		}
	}
}

// TestExclusive: if a server does not support exclusive CREATE, the client uses guarded.
func TestExclusive(t *testing.T) {
	var modes []nfs3.CreateMode
	refuse := func(progs []oncrpc.Program) {
		p := &progs[0].Procedures[nfs3.ProcCreate]
		original := p.Handler
		p.Handler = func(ctx context.Context, c *oncrpc.Call) error {
			var a nfs3.CreateArgs
			d := *c.Args
			a.UnmarshalXDR(&d)
			modes = append(modes, a.How.Mode)
			if a.How.Mode != nfs3.Exclusive {
				return original(ctx, c)
			}
			a.UnmarshalXDR(c.Args)
			(&nfs3.CreateRes{Result: nfs3.Result{Status: nfs3.ErrNotSupp}}).MarshalXDR(c.Results)
			return nil
		}
	}
	f := mount(t, pipe.New(server(t, refuse), pipe.Inline), 0, nfsfs.Config{})
	o := must(f.OpenFile(t.Context(), "file", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640))(t)
	ok(t, o.Close())
	if i := must(f.Stat(t.Context(), "file"))(t); i.Mode() != 0o640 || len(modes) != 2 || modes[1] != nfs3.Guarded {
		t.Errorf("made %v with %v", i, modes)
	}
	if _, err := f.OpenFile(t.Context(), "file", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o640); !errors.Is(err, fs.ErrExist) {
		t.Errorf("again: %v", err)
	}
}
