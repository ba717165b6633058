// Package vfstest is the conformance suite of file systems: what NFS clients rely on,
// and what package vfs promises to the server. Every file system passes the same one.
package vfstest

import (
	"context"
	"errors"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Run runs the suite. newFS returns an empty file system whose root directory belongs to user 0
// and has mode 0755; it must have room for some 64 MiB.
func Run(t *testing.T, newFS func(testing.TB) vfs.FS) {
	for _, tt := range []struct {
		name string
		run  func(*fixture)
	}{
		{"Root", testRoot},
		{"Handles", testHandles},
		{"Names", testNames},
		{"Lookup", testLookup},
		{"Create", testCreate},
		{"CreateExisting", testCreateExisting},
		{"Mkdir", testMkdir},
		{"SetGIDDirectory", testSetGIDDirectory},
		{"ReadWrite", testReadWrite},
		{"ReadEdges", testReadEdges},
		{"Sparse", testSparse},
		{"WriteLimits", testWriteLimits},
		{"WriteFetch", testWriteFetch},
		{"Model", testModel},
		{"Concurrent", testConcurrent},
		{"Snapshot", testSnapshot},
		{"SetAttr", testSetAttr},
		{"SetAttrAtOnce", testSetAttrAtOnce},
		{"Truncate", testTruncate},
		{"Times", testTimes},
		{"Wcc", testWcc},
		{"SetID", testSetID},
		{"Permissions", testPermissions},
		{"Access", testAccess},
		{"ReadDir", testReadDir},
		{"ReadDirChanging", testReadDirChanging},
		{"StatFS", testStatFS},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.run(&fixture{T: t, fs: newFS(t), ctx: t.Context()})
		})
	}
}

// fixture is one test with a file system of its own.
type fixture struct {
	*testing.T
	fs  vfs.FS
	ctx context.Context
}

// Who calls.
var (
	root  = &vfs.Cred{}
	alice = &vfs.Cred{UID: 1001, GID: 100, GIDs: []uint32{500, 501}}
	bob   = &vfs.Cred{UID: 1002, GID: 100}
	carol = &vfs.Cred{UID: 1003, GID: 300, GIDs: []uint32{501}}
)

// want fails the test unless err is the status.
func (f *fixture) want(what string, err error, status nfs3.Status) {
	f.Helper()
	if status == nfs3.OK && err != nil || status != nfs3.OK && !errors.Is(err, status) {
		f.Errorf("%s: %v, want %v", what, err, status)
	}
}

// ok stops the test at an error.
func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// attr returns the attributes of a file.
func (f *fixture) attr(h nfs3.FH) nfs3.Fattr {
	f.Helper()
	a, err := f.fs.GetAttr(f.ctx, h)
	f.ok(err)
	return a
}

// file makes a file of root's with mode 0644 in the root directory.
func (f *fixture) file(name string) nfs3.FH {
	f.Helper()
	return f.fileOf(root, f.fs.Root(), name, 0o644)
}

func (f *fixture) fileOf(c *vfs.Cred, dir nfs3.FH, name string, mode uint32) nfs3.FH {
	f.Helper()
	o, _, err := f.fs.Create(f.ctx, c, dir, name, &nfs3.CreateHow{Mode: nfs3.Guarded, Set: setMode(mode)})
	f.ok(err)
	return o.File
}

// dir makes a directory in the root directory.
func (f *fixture) dir(name string, mode uint32) nfs3.FH {
	f.Helper()
	set := setMode(mode)
	o, _, err := f.fs.Mkdir(f.ctx, root, f.fs.Root(), name, &set)
	f.ok(err)
	return o.File
}

func setMode(mode uint32) nfs3.Sattr { return nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: mode}} }

func setSize(size uint64) nfs3.Sattr { return nfs3.Sattr{Size: nfs3.Set64{Set: true, To: size}} }

func (f *fixture) set(h nfs3.FH, set nfs3.Sattr) {
	f.Helper()
	_, err := f.fs.SetAttr(f.ctx, root, h, &set, nil)
	f.ok(err)
}

// write writes p as root.
func (f *fixture) write(h nfs3.FH, off uint64, p []byte) {
	f.Helper()
	_, err := f.fs.Write(f.ctx, root, h, off, Bulk(p), nfs3.FileSync)
	f.ok(err)
}

// read reads up to n bytes as root.
func (f *fixture) read(h nfs3.FH, off uint64, n int) ([]byte, bool) {
	f.Helper()
	p, eof, err := Read(f.ctx, f.fs, root, h, off, n)
	f.ok(err)
	return p, eof
}

// Read returns a copy of what fs.Read hands out.
func Read(ctx context.Context, fs vfs.FS, c *vfs.Cred, h nfs3.FH, off uint64, n int) ([]byte, bool, error) {
	var r vfs.ReadResult
	err := fs.Read(ctx, c, h, off, n, &r)
	p := []byte{}
	for _, s := range r.Data {
		p = append(p, s...)
	}
	if r.Release != nil {
		r.Release.Release()
	}
	return p, r.EOF, err
}

// Bulk returns data for Write that is here already.
func Bulk(p []byte) xdr.Bulk { return decoded(p, nil) }

// Lazy returns data for Write that is fetched from p, after before was called,
// whose error is the fetch's.
func Lazy(p []byte, before func() error) xdr.Bulk { return decoded(p, &source{p, before}) }

func decoded(p []byte, src *source) xdr.Bulk {
	var e xdr.Encoder
	e.BulkBytes(p, nil)
	m := e.Message()
	d := xdr.NewDecoder(nil)
	if src != nil {
		d.Reset(m.Inline, []xdr.Chunk{{Position: 4, Len: len(p), Source: src}})
	} else {
		d.Reset(m.AppendTo(nil), nil)
	}
	return d.Bulk(len(p))
}

type source struct {
	p      []byte
	before func() error
}

func (s *source) Fetch(_ context.Context, _, n int, dst [][]byte) error {
	if err := s.before(); err != nil {
		return err
	}
	rest := s.p[:n]
	for _, d := range dst {
		rest = rest[copy(d, rest):]
	}
	return nil
}

func (s *source) Load(context.Context, int, int, bool) ([]byte, xdr.Releaser, error) {
	return nil, nil, errors.New("vfstest: a file system fetches into memory of its own")
}
