package nfsserver_test

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// writeTo writes p to a file and returns the results.
func writeTo(tb testing.TB, c *oncrpc.Client, h nfs3.FH, off uint64, p []byte, how nfs3.StableHow) nfs3.WriteRes {
	tb.Helper()
	var res nfs3.WriteRes
	do(tb, c, nfs3.ProcWrite, &nfs3.WriteArgs{File: h, Offset: off, Count: uint32(len(p)), Stable: how, Data: [][]byte{p}}, &res)
	return res
}

// TestReadEdges: the smallest and largest offsets and counts.
func TestReadEdges(t *testing.T) {
	w := newWorld(t)
	c := nfsOn(w.reach(t, pipe.Inline), auth(t, 0))
	if r := writeTo(t, c, w.file, 0, []byte("contents"), nfs3.Unstable); r.Status != nfs3.OK {
		t.Fatal(r.Status)
	}
	for _, tt := range []struct {
		off   uint64
		count uint32
		want  string
		eof   bool
	}{
		{0, 0, "", false},
		{0, 7, "content", false},
		{0, 8, "contents", true},
		{0, math.MaxUint32, "contents", true},
		{7, 1, "s", true},
		{8, 0, "", true},
		{8, 1, "", true},
		{math.MaxUint32, math.MaxUint32, "", true},
		{math.MaxInt64 - 1, math.MaxUint32, "", true},
		{math.MaxInt64, 1, "", true},
		{math.MaxInt64 + 1, 1, "", true},
		{math.MaxUint64, 1, "", true},
		{math.MaxUint64, math.MaxUint32, "", true},
		{math.MaxUint64, 0, "", true},
	} {
		res := nfs3.ReadRes{Into: make([]byte, 100)}
		got := do(t, c, nfs3.ProcRead, &nfs3.ReadArgs{File: w.file, Offset: tt.off, Count: tt.count}, &res)
		if got != nfs3.OK || string(res.Into[:res.Count]) != tt.want || res.EOF != tt.eof || res.Attr.Attr.Size != 8 {
			t.Errorf("%d bytes at %d: %v, %q, EOF %v; want %q, %v", tt.count, tt.off, got, res.Into[:res.Count], res.EOF, tt.want, tt.eof)
		}
	}
}

// TestWriteEdges: the same for WRITE. A WRITE that fails leaves the file unchanged.
func TestWriteEdges(t *testing.T) {
	const far = math.MaxInt64
	for _, tt := range []struct {
		off   uint64
		count int
		want  nfs3.Status
		size  uint64
	}{
		{0, 0, nfs3.OK, 8},
		{far, 0, nfs3.OK, 8}, // writing nothing works anywhere
		{far - 5, 5, nfs3.OK, far},
		{1 << 32, 5, nfs3.OK, 1<<32 + 5},
		{far - 4, 5, nfs3.ErrFBig, 8},
		{far, 1, nfs3.ErrFBig, 8},
		{far + 1, 1, nfs3.ErrFBig, 8},
		{far + 1, 0, nfs3.ErrFBig, 8},
		{math.MaxUint64, 1, nfs3.ErrFBig, 8},
		{math.MaxUint64, 0, nfs3.ErrFBig, 8},
		{math.MaxUint64 - 4, 5, nfs3.ErrFBig, 8},
		{0, nfsserver.DefaultTransfer, nfs3.OK, nfsserver.DefaultTransfer},
		// No more than wtmax.
		{0, nfsserver.DefaultTransfer + 1, nfs3.OK, nfsserver.DefaultTransfer},
		{far - nfsserver.DefaultTransfer, nfsserver.DefaultTransfer + 1, nfs3.OK, far},
		{far - nfsserver.DefaultTransfer + 1, nfsserver.DefaultTransfer + 1, nfs3.ErrFBig, 8},
	} {
		w := newWorld(t)
		c := w.superuser(t)
		writeTo(t, c, w.file, 0, []byte("contents"), nfs3.Unstable)
		res := writeTo(t, c, w.file, tt.off, make([]byte, tt.count), nfs3.Unstable)
		if res.Status != tt.want || res.Wcc.After.Attr.Size != tt.size || tt.want == nfs3.OK && int(res.Count) != min(tt.count, nfsserver.DefaultTransfer) {
			t.Errorf("%d bytes at %d: %v, %d bytes, size %d; want %v, size %d", tt.count, tt.off, res.Status, res.Count, res.Wcc.After.Attr.Size, tt.want, tt.size)
		}
		if got := attrOf(t, c, w.file).Size; got != tt.size {
			t.Errorf("%d bytes at %d: size %d, want %d", tt.count, tt.off, got, tt.size)
		}
	}
}

// checked is a file system that fails a test if a call breaks the contract of vfs.FS.
type checked struct {
	vfs.FS
	tb testing.TB
}

func (f checked) Write(ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, data xdr.Bulk, how nfs3.StableHow) (vfs.WriteResult, error) {
	if off > math.MaxInt64 || uint64(data.Len()) > math.MaxInt64-off {
		f.tb.Errorf("file system asked to write %d bytes at %d", data.Len(), off)
	}
	return f.FS.Write(ctx, c, h, off, data, how)
}

func (f checked) Read(ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, n int, r *vfs.ReadResult) error {
	if n < 0 || n > 0 && (off > math.MaxInt64 || uint64(n) > math.MaxInt64-off) {
		f.tb.Errorf("file system asked to read %d bytes at %d", n, off)
	}
	return f.FS.Read(ctx, c, h, off, n, r)
}

// TestDataContract: file systems get no offsets beyond an int64.
func TestDataContract(t *testing.T) {
	w := newWorld(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(checked{w.fs, t})}})
	c := nfsOn(pipe.New(rpc, pipe.Inline), auth(t, 0))
	for _, off := range []uint64{0, math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64 - 1, math.MaxUint64} {
		for n := range 4 {
			writeTo(t, c, w.file, off, make([]byte, n), nfs3.Unstable)
		}
		for _, n := range []uint32{0, 1, 2, 3, math.MaxUint32} {
			do(t, c, nfs3.ProcRead, &nfs3.ReadArgs{File: w.file, Offset: off, Count: n}, &nfs3.ReadRes{Into: make([]byte, nfsserver.DefaultTransfer)})
		}
	}
}

// TestSetSizeEdges: the smallest and largest sizes.
func TestSetSizeEdges(t *testing.T) {
	w := newWorld(t)
	c := w.superuser(t)
	for _, tt := range []struct {
		to   uint64
		want nfs3.Status
	}{
		{5, nfs3.OK}, {math.MaxUint32 + 1, nfs3.OK}, {math.MaxInt64, nfs3.OK}, {math.MaxInt64 + 1, nfs3.ErrFBig},
		{math.MaxUint64, nfs3.ErrFBig}, {0, nfs3.OK},
	} {
		before := attrOf(t, c, w.file).Size
		var res nfs3.SetAttrRes
		got := do(t, c, nfs3.ProcSetAttr, &nfs3.SetAttrArgs{File: w.file, Set: nfs3.Sattr{Size: nfs3.Set64{Set: true, To: tt.to}}}, &res)
		size := tt.to
		if tt.want != nfs3.OK {
			size = before
		}
		if got != tt.want || res.Wcc.After.Attr.Size != size {
			t.Errorf("size %d: got %v and %d, want %v and %d", tt.to, got, res.Wcc.After.Attr.Size, tt.want, size)
		}
	}
}

// TestCommitEdges: any range can be committed.
func TestCommitEdges(t *testing.T) {
	w := newWorld(t)
	c := w.superuser(t)
	verf := writeTo(t, c, w.file, 0, []byte("contents"), nfs3.Unstable).Verf
	for _, off := range []uint64{0, 3, 8, 1 << 32, math.MaxInt64, math.MaxInt64 + 1, math.MaxUint64} {
		for _, n := range []uint32{0, 1, math.MaxUint32} {
			var res nfs3.CommitRes
			got := do(t, c, nfs3.ProcCommit, &nfs3.CommitArgs{File: w.file, Offset: off, Count: n}, &res)
			if got != nfs3.OK || res.Verf != verf || res.Wcc.After.Attr.Size != 8 {
				t.Errorf("%d bytes at %d: %v, %+v", n, off, got, res)
			}
		}
	}
}

// TestStability: a WRITE is as durable as requested, and has the same verifier as COMMIT.
func TestStability(t *testing.T) {
	w := newWorld(t)
	c := w.superuser(t)
	var commit nfs3.CommitRes
	do(t, c, nfs3.ProcCommit, &nfs3.CommitArgs{File: w.file}, &commit)
	if commit.Verf == (nfs3.Verifier{}) {
		t.Error("the verifier is zero")
	}
	for _, how := range []nfs3.StableHow{nfs3.Unstable, nfs3.DataSync, nfs3.FileSync} {
		p := fmt.Appendf(nil, "data of stability %d", how)
		res := writeTo(t, c, w.file, 0, p, how)
		if res.Status != nfs3.OK || int(res.Count) != len(p) || res.Committed < how || res.Verf != commit.Verf {
			t.Errorf("%d: %+v", how, res)
		}
		read := nfs3.ReadRes{Into: make([]byte, len(p))}
		if do(t, c, nfs3.ProcRead, &nfs3.ReadArgs{File: w.file, Count: uint32(len(p))}, &read); !bytes.Equal(read.Into, p) {
			t.Errorf("%d: read %q, want %q", how, read.Into, p)
		}
	}
}

// TestFull: if there is no room left, earlier data stays intact. Room that is made can be used.
func TestFull(t *testing.T) {
	fs, err := memfs.New(memfs.Config{Capacity: 256 << 10, RootMode: 0o777})
	if err != nil {
		t.Fatal(err)
	}
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(fs)}})
	c := nfsOn(pipe.New(rpc, pipe.Chunked), auth(t, 0))
	create := func(name string) (nfs3.FH, nfs3.Status) {
		var res nfs3.CreateRes
		s := do(t, c, nfs3.ProcCreate, &nfs3.CreateArgs{Where: at(fs.Root(), name)}, &res)
		return res.File.FH, s
	}
	spare, _ := create("spare")
	if r := writeTo(t, c, spare, 0, make([]byte, 64<<10), nfs3.FileSync); r.Status != nfs3.OK {
		t.Fatal(r.Status)
	}
	h, _ := create("file")
	block := func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, 8192) }
	blocks := 0
	var full nfs3.WriteRes
	for ; blocks < 100; blocks++ {
		if full = writeTo(t, c, h, uint64(blocks)*8192, block(blocks), nfs3.FileSync); full.Status != nfs3.OK {
			break
		}
	}
	if full.Status != nfs3.ErrNoSpc || blocks < 5 || full.Wcc.After.Attr.Size != uint64(blocks)*8192 {
		t.Fatalf("after %d blocks: %+v", blocks, full)
	}
	intact := func() {
		t.Helper()
		for i := range blocks {
			res := nfs3.ReadRes{Into: make([]byte, 8192)}
			do(t, c, nfs3.ProcRead, &nfs3.ReadArgs{File: h, Offset: uint64(i) * 8192, Count: 8192}, &res)
			if !bytes.Equal(res.Into[:res.Count], block(i)) {
				t.Errorf("block %d has changed", i)
			}
		}
	}
	intact()
	status, made := nfs3.OK, 0
	for ; status == nfs3.OK && made < 1000; made++ {
		_, status = create(fmt.Sprint("more", made))
	}
	if status != nfs3.ErrNoSpc {
		t.Errorf("%d files made, then %v", made, status)
	}
	var res nfs3.CreateRes
	for _, op := range operations {
		if op.named && op.proc >= nfs3.ProcMkdir && op.proc <= nfs3.ProcMknod {
			if got := do(t, c, op.proc, op.args(fs.Root(), fs.Root(), "one more"), &res); got != nfs3.ErrNoSpc || !res.Dir.After.Present {
				t.Errorf("%v: %v, %+v", &op, got, res.Dir)
			}
		}
	}
	if got := do(t, c, nfs3.ProcRemove, &nfs3.RemoveArgs{What: at(fs.Root(), "spare")}, new(nfs3.RemoveRes)); got != nfs3.OK {
		t.Fatal(got)
	}
	if r := writeTo(t, c, h, uint64(blocks)*8192, block(blocks), nfs3.FileSync); r.Status != nfs3.OK {
		t.Errorf("with room again: %v", r.Status)
	}
	blocks++
	intact()
}

// TestAccess: READ and WRITE agree with the rights that ACCESS returns, for the user, the group and
// supplementary groups.
func TestAccess(t *testing.T) {
	fs := newFS(t)
	ctx, su := t.Context(), &vfs.Cred{}
	set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o640}, UID: nfs3.Set32{Set: true, To: 10}, GID: nfs3.Set32{Set: true, To: 20}}
	file, _, err := fs.Create(ctx, su, fs.Root(), "file", &nfs3.CreateHow{Set: set})
	if err != nil {
		t.Fatal(err)
	}
	set.Mode.To = 0o750
	dir, _, err := fs.Mkdir(ctx, su, fs.Root(), "dir", &set)
	if err != nil {
		t.Fatal(err)
	}
	const (
		change = nfs3.AccessModify | nfs3.AccessExtend
		enter  = nfs3.AccessRead | nfs3.AccessLookup
	)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(fs)}})
	for name, tt := range map[string]struct {
		cred        oncrpc.SysCred
		file, dir   nfs3.Access
		read, write nfs3.Status
	}{
		"owner":               {oncrpc.SysCred{UID: 10, GID: 1}, nfs3.AccessRead | change, enter | change | nfs3.AccessDelete, nfs3.OK, nfs3.OK},
		"group":               {oncrpc.SysCred{UID: 1, GID: 20}, nfs3.AccessRead, enter, nfs3.OK, nfs3.ErrAcces},
		"supplementary group": {oncrpc.SysCred{UID: 1, GID: 1, GIDs: []uint32{3, 20}}, nfs3.AccessRead, enter, nfs3.OK, nfs3.ErrAcces},
		"others":              {oncrpc.SysCred{UID: 1, GID: 1, GIDs: []uint32{3, 10}}, 0, 0, nfs3.ErrAcces, nfs3.ErrAcces},
		"superuser":           {oncrpc.SysCred{}, nfs3.AccessRead | change, enter | change | nfs3.AccessDelete, nfs3.OK, nfs3.OK},
	} {
		cred, err := oncrpc.AuthSys(tt.cred)
		if err != nil {
			t.Fatal(err)
		}
		c := nfsOn(pipe.New(rpc, pipe.Inline), cred)
		for h, want := range map[nfs3.FH]nfs3.Access{file.File: tt.file, dir.File: tt.dir} {
			for _, asked := range []nfs3.Access{nfs3.AccessAll, nfs3.AccessRead, 0, 1<<32 - 1} {
				var res nfs3.AccessRes
				got := do(t, c, nfs3.ProcAccess, &nfs3.AccessArgs{File: h, Want: asked}, &res)
				if got != nfs3.OK || res.Granted != want&asked || !res.Attr.Present {
					t.Errorf("%s: %#x of %#x: %v, want %#x", name, res.Granted, asked, got, want&asked)
				}
			}
		}
		if got := do(t, c, nfs3.ProcRead, &nfs3.ReadArgs{File: file.File, Count: 1}, &nfs3.ReadRes{Into: make([]byte, 1)}); got != tt.read {
			t.Errorf("%s: READ: got %v, want %v", name, got, tt.read)
		}
		if got := writeTo(t, c, file.File, 0, []byte("x"), nfs3.Unstable).Status; got != tt.write {
			t.Errorf("%s: WRITE: got %v, want %v", name, got, tt.write)
		}
	}
}
