package nfsfs_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// asked is a transport that records the procedures called.
type asked struct {
	*pipe.Conn
	procs []nfs3.Proc
}

func (a *asked) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if binary.BigEndian.Uint32(x.Call.Inline[12:]) == nfs3.Program {
		a.procs = append(a.procs, nfs3.Proc(binary.BigEndian.Uint32(x.Call.Inline[20:])))
	}
	return a.Conn.RoundTrip(ctx, x)
}

// TestSmallFile: making and writing a small file takes two calls, and reading a listed one takes
// one.
func TestSmallFile(t *testing.T) {
	ctx := t.Context()
	a := &asked{Conn: pipe.New(server(t, nil), pipe.Inline)}
	f := mount(t, a, 0, nfsfs.Config{})
	want := func(procs ...nfs3.Proc) {
		t.Helper()
		if !slices.Equal(a.procs, procs) {
			t.Errorf("called %v, want %v", a.procs, procs)
		}
		a.procs = nil
	}
	ok(t, f.Mkdir(ctx, "dir", 0o755))
	must(f.StatFS(ctx, "dir/"))(t)
	a.procs = nil
	made := must(f.CreateUnique(ctx, "dir/file", nfs3.FileSync, 0o640))(t)
	must(made.WriteAt([]byte("content"), 0))(t)
	ok(t, made.Close())
	want(nfs3.ProcFSInfo, nfs3.ProcCreate, nfs3.ProcWrite)

	var listed *nfsfs.Info
	for i, err := range f.Entries(ctx, "dir") {
		ok(t, err)
		listed = i
	}
	if listed.Mode() != 0o640 || listed.Name() != "file" {
		t.Errorf("listed is %v", listed)
	}
	a.procs = nil
	o := must(f.OpenInfo(ctx, "dir/file", listed))(t)
	p := make([]byte, 100)
	n, i, err := o.ReadAtInfo(p, 3)
	if string(p[:n]) != "tent" || err != io.EOF || i == nil || i.Size() != 7 || i.Name() != "file" {
		t.Errorf("read %q, %v, %v", p[:n], i, err)
	}
	want(nfs3.ProcRead)
	if n, _, err = o.ReadAtInfo(p[:4], 1); string(p[:n]) != "onte" || err != nil {
		t.Errorf("read %q, %v", p[:n], err)
	}
	if n, _, err = o.ReadAtInfo(p, 7); n != 0 || err != io.EOF {
		t.Errorf("behind the end: %d bytes, %v", n, err)
	}
	ok(t, f.Remove(ctx, "dir/file"))
	if _, _, err = o.ReadAtInfo(p, 0); !errors.Is(err, nfs3.ErrStale) {
		t.Errorf("of a file that is gone: %v", err)
	}
	ok(t, o.Close())
	if _, _, err = o.ReadAtInfo(p, 0); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("of a closed file: %v", err)
	}
	dir := must(f.Stat(ctx, "dir"))(t)
	if _, err := f.OpenInfo(ctx, "dir", dir); err == nil || !strings.Contains(err.Error(), "open dir: ") {
		t.Errorf("open of a directory: %v", err)
	}
}

// TestReadAtInfoLong: a long read takes several READs.
func TestReadAtInfoLong(t *testing.T) {
	f := local(t, nfsfs.Config{TransferSize: 10})
	content := strings.Repeat("0123456789abc", 10)
	write(t, f, "file", content)
	o := must(f.Open(t.Context(), "file"))(t)
	defer o.Close()
	p := make([]byte, 500)
	n, i, err := o.ReadAtInfo(p, 0)
	if string(p[:n]) != content || err != io.EOF || i == nil || i.Size() != int64(len(content)) {
		t.Errorf("read %q, %v, %v", p[:n], i, err)
	}
}
