package nfsserver_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newFS(tb testing.TB) *memfs.FS {
	tb.Helper()
	fs, err := memfs.New(memfs.Config{RootMode: 0o777})
	if err != nil {
		tb.Fatal(err)
	}
	return fs
}

// serve serves exports and returns the RPC server.
func serve(tb testing.TB, cfg nfsserver.Config) *oncrpc.Server {
	tb.Helper()
	s, err := nfsserver.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	rpc.Handle(s.Programs()...)
	tb.Cleanup(func() {
		if n := rpc.Stats().Panics; n > 0 {
			tb.Errorf("%d panics", n)
		}
		rpc.Shutdown(context.Background())
	})
	return rpc
}

// auth returns the credential of a user.
func auth(tb testing.TB, uid uint32) oncrpc.Auth {
	tb.Helper()
	a, err := (&oncrpc.SysCred{UID: uid, GID: uid}).Auth()
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// start serves one file system as "/" and returns a client of it and its root.
func start(tb testing.TB, cfg nfsserver.Config) (*nfsclient.Client, nfs3.FH) {
	tb.Helper()
	fs := newFS(tb)
	cfg.Exports = []nfsserver.Export{{Path: "/", FS: fs, Squash: nfsserver.SquashNone}}
	return nfsclient.New(pipe.New(serve(tb, cfg), pipe.Chunked), auth(tb, 0)), fs.Root()
}

func TestNew(t *testing.T) {
	a, b := newFS(t), newFS(t)
	for name, tt := range map[string]struct {
		cfg nfsserver.Config
		ok  bool
	}{
		"nothing":       {nfsserver.Config{}, false},
		"one":           {nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: a, Squash: nfsserver.SquashNone}}}, true},
		"two":           {nfsserver.Config{Exports: []nfsserver.Export{{Path: "/a", FS: a, Squash: nfsserver.SquashNone}, {Path: "/b", FS: b, Squash: nfsserver.SquashNone}}}, true},
		"one twice":     {nfsserver.Config{Exports: []nfsserver.Export{{Path: "/a", FS: a, Squash: nfsserver.SquashNone}, {Path: "/b", FS: a, Squash: nfsserver.SquashNone}}}, true},
		"a path twice":  {nfsserver.Config{Exports: []nfsserver.Export{{Path: "/a", FS: a, Squash: nfsserver.SquashNone}, {Path: "/a", FS: b, Squash: nfsserver.SquashNone}}}, false},
		"relative":      {nfsserver.Config{Exports: []nfsserver.Export{{Path: "a", FS: a, Squash: nfsserver.SquashNone}}}, false},
		"not clean":     {nfsserver.Config{Exports: []nfsserver.Export{{Path: "/a/", FS: a, Squash: nfsserver.SquashNone}}}, false},
		"negative":      {nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: a, Squash: nfsserver.SquashNone}}, MaxRead: -1}, false},
		"far too large": {nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: a, Squash: nfsserver.SquashNone}}, MaxWrite: 1 << 30}, false},
	} {
		if _, err := nfsserver.New(tt.cfg); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestMount(t *testing.T) {
	ctx := t.Context()
	outer, inner := newFS(t), newFS(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/srv", FS: outer, Squash: nfsserver.SquashNone}, {Path: "/srv/inner", FS: inner, Squash: nfsserver.SquashNone}}})
	c := nfsclient.New(pipe.New(rpc, pipe.Inline), auth(t, 0))
	dir, err := c.Mkdir(ctx, outer.Root(), "dir", nfs3.Sattr{})
	if err != nil {
		t.Fatal(err)
	}
	sub, err := c.Mkdir(ctx, dir.File, "sub", nfs3.Sattr{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(ctx, outer.Root(), "file", nfs3.CreateHow{}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path string
		want nfs3.FH
		err  mount3.Status
	}{
		{"/srv", outer.Root(), mount3.OK},
		{"/srv/", outer.Root(), mount3.OK},
		{"//srv//dir/.//sub/", sub.File, mount3.OK},
		{"/srv/dir", dir.File, mount3.OK},
		{"/srv/dir/..", outer.Root(), mount3.OK},
		{"/srv/inner", inner.Root(), mount3.OK},
		{"/srv/inner/dir", nfs3.FH{}, mount3.ErrNoEnt},
		{"/srv/../../srv/dir", dir.File, mount3.OK},
		{"/srv/none", nfs3.FH{}, mount3.ErrNoEnt},
		{"/srvdir", nfs3.FH{}, mount3.ErrNoEnt},
		{"/srv/file", nfs3.FH{}, mount3.ErrNotDir},
		{"/srv/file/x", nfs3.FH{}, mount3.ErrNotDir},
		{"/", nfs3.FH{}, mount3.ErrNoEnt},
		{"", nfs3.FH{}, mount3.ErrNoEnt},
		{"srv", nfs3.FH{}, mount3.ErrNoEnt},
		{"/srv/a\x00b", nfs3.FH{}, mount3.ErrAcces},
	} {
		got, err := c.Mount(ctx, tt.path)
		if tt.err == mount3.OK && err != nil || tt.err != mount3.OK && !errors.Is(err, tt.err) || got != tt.want {
			t.Errorf("%q: %v, %v; want %v, %v", tt.path, got, err, tt.want, tt.err)
		}
	}
}

func TestLimits(t *testing.T) {
	ctx := t.Context()
	c, root := start(t, nfsserver.Config{MaxRead: 8192, MaxWrite: 4096})
	info, err := c.FSInfo(ctx, root)
	if err != nil || info.RtMax != 8192 || info.WtMax != 4096 || info.RtPref > 8192 || info.DtPref > 8192 || info.MaxFileSize != math.MaxInt64 {
		t.Errorf("%v, %+v", err, info)
	}
	o, err := c.Create(ctx, root, "file", nfs3.CreateHow{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if r, err := c.Write(ctx, o.File, uint64(4096*i), make([]byte, 4096), nfs3.Unstable); err != nil || r.N != 4096 {
			t.Fatal(r, err)
		}
	}
	p := make([]byte, 20000)
	if r, err := c.Read(ctx, o.File, 0, p); err != nil || r.N != 8192 || r.EOF {
		t.Errorf("read over the limit: %+v, %v", r, err)
	}
	for _, off := range []uint64{math.MaxInt64 - 1, math.MaxInt64, math.MaxUint64 - 5, math.MaxUint64} {
		if r, err := c.Read(ctx, o.File, off, p); err != nil || r.N != 0 || !r.EOF {
			t.Errorf("read at %d: %+v, %v", off, r, err)
		}
		if _, err := c.Write(ctx, o.File, off, p[:4096], nfs3.Unstable); !errors.Is(err, nfs3.ErrFBig) {
			t.Errorf("write at %d: %v", off, err)
		}
	}
	if _, err := c.Write(ctx, o.File, 0, p, nfs3.Unstable); !errors.Is(err, nfs3.ErrInval) {
		t.Errorf("write over the limit: %v", err)
	}
	if a, err := c.GetAttr(ctx, o.File); err != nil || a.Size != 5*4096 {
		t.Errorf("%v, %+v", err, a)
	}
	pc, err := c.PathConf(ctx, root)
	if err != nil || pc.NameMax != 255 || !pc.NoTrunc || pc.CaseInsensitive {
		t.Errorf("%v, %+v", err, pc)
	}
}

// TestVerifier: it is the same as long as the server runs, and another with the next.
func TestVerifier(t *testing.T) {
	ctx := t.Context()
	fs := newFS(t)
	var seen []nfs3.Verifier
	for i := range 2 {
		rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Squash: nfsserver.SquashNone}}})
		c := nfsclient.New(pipe.New(rpc, pipe.Inline), auth(t, 0))
		o, err := c.Create(ctx, fs.Root(), "file", nfs3.CreateHow{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.Write(ctx, o.File, 0, []byte{byte(i)}, nfs3.Unstable)
		if err != nil {
			t.Fatal(err)
		}
		verf, err := c.Commit(ctx, o.File, 0, 0)
		if err != nil || verf != r.Verf {
			t.Errorf("%v: WRITE %x, COMMIT %x", err, r.Verf, verf)
		}
		seen = append(seen, verf)
	}
	if seen[0] == seen[1] {
		t.Error("two servers have the same verifier")
	}
}

func TestCredentials(t *testing.T) {
	ctx := t.Context()
	fs := newFS(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Squash: nfsserver.SquashNone}}})
	for name, tt := range map[string]struct {
		auth oncrpc.Auth
		uid  uint32
	}{
		"none":  {oncrpc.AuthNone(), nfsserver.Nobody},
		"alice": {auth(t, 1001), 1001},
		"root":  {auth(t, 0), 0},
	} {
		c := nfsclient.New(pipe.New(rpc, pipe.Inline), tt.auth)
		o, err := c.Create(ctx, fs.Root(), name, nfs3.CreateHow{})
		if err != nil {
			t.Fatal(err)
		}
		if a, err := c.GetAttr(ctx, o.File); err != nil || a.UID != tt.uid || a.GID != tt.uid {
			t.Errorf("%s: %v, %+v", name, err, a)
		}
	}
}

// TestHandles: handles of file systems that are not, or not any more, exported.
func TestHandles(t *testing.T) {
	c, _ := start(t, nfsserver.Config{})
	other := newFS(t)
	for name, tt := range map[string]struct {
		h    nfs3.FH
		want nfs3.Status
	}{
		"empty":             {nfs3.FH{}, nfs3.ErrBadHandle},
		"short":             {nfs3.MakeFH(make([]byte, 7)), nfs3.ErrBadHandle},
		"not exported here": {other.Root(), nfs3.ErrStale},
	} {
		if _, err := c.GetAttr(t.Context(), tt.h); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		if _, err := c.FSInfo(t.Context(), tt.h); !errors.Is(err, tt.want) {
			t.Errorf("%s: FSINFO: %v, want %v", name, err, tt.want)
		}
	}
}
