package nfsserver_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"net/netip"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
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
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
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
func auth(tb testing.TB, uid uint32) oncrpc.ClientFlavor {
	tb.Helper()
	a, err := oncrpc.AuthSys(oncrpc.SysCred{UID: uid, GID: uid})
	if err != nil {
		tb.Fatal(err)
	}
	return a
}

// start serves one file system as "/" and returns a client of it and its root.
func start(tb testing.TB, cfg nfsserver.Config) (*nfsclient.Client, nfs3.FH) {
	tb.Helper()
	fs := newFS(tb)
	cfg.Exports = []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}
	return nfsclient.New(pipe.New(serve(tb, cfg), pipe.Chunked), auth(tb, 0)), fs.Root()
}

func TestNew(t *testing.T) {
	a, b := newFS(t), newFS(t)
	one := func(change func(*nfsserver.Export)) nfsserver.Config {
		x := export(a)
		change(&x)
		return nfsserver.Config{Exports: []nfsserver.Export{x}}
	}
	two := func(path string, fs vfs.FS) nfsserver.Config {
		return nfsserver.Config{Exports: []nfsserver.Export{{Path: "/a", FS: a}, {Path: path, FS: fs}}}
	}
	sizes := func(read, write int) nfsserver.Config {
		return nfsserver.Config{Exports: []nfsserver.Export{export(a)}, MaxRead: read, MaxWrite: write}
	}
	for name, tt := range map[string]struct {
		cfg nfsserver.Config
		ok  bool
	}{
		"nothing":                {nfsserver.Config{}, false},
		"one":                    {one(func(*nfsserver.Export) {}), true},
		"two":                    {two("/b", b), true},
		"one in another":         {two("/a/b", b), true},
		"one twice":              {two("/b", a), false},
		"one twice, wrapped":     {two("/b", &failing{FS: a}), false},
		"a path twice":           {two("/a", b), false},
		"relative":               {one(func(x *nfsserver.Export) { x.Path = "a" }), false},
		"empty":                  {one(func(x *nfsserver.Export) { x.Path = "" }), false},
		"not clean":              {one(func(x *nfsserver.Export) { x.Path = "/a/" }), false},
		"dots":                   {one(func(x *nfsserver.Export) { x.Path = "/a/../b" }), false},
		"longest path":           {one(func(x *nfsserver.Export) { x.Path = "/" + strings.Repeat("a", mount3.MaxPath-1) }), true},
		"path too long":          {one(func(x *nfsserver.Export) { x.Path = "/" + strings.Repeat("a", mount3.MaxPath) }), false},
		"no file system":         {one(func(x *nfsserver.Export) { x.FS = nil }), false},
		"unknown squash":         {one(func(x *nfsserver.Export) { x.Rules[0].Squash = nfsserver.SquashAll + 1 }), false},
		"negative squash":        {one(func(x *nfsserver.Export) { x.Rules[0].Squash = -1 }), false},
		"clients":                {one(func(x *nfsserver.Export) { x.Rules[0].Clients = prefixes("10.0.0.0/8", "::/0") }), true},
		"no prefix":              {one(func(x *nfsserver.Export) { x.Rules[0].Clients = []netip.Prefix{{}} }), false},
		"prefix of mapped":       {one(func(x *nfsserver.Export) { x.Rules[0].Clients = prefixes("::ffff:10.0.0.0/104") }), false},
		"negative read":          {sizes(-1, 0), false},
		"negative write":         {sizes(0, -1), false},
		"sizes":                  {sizes(1<<10, 64<<20), true},
		"too small to read":      {sizes(1<<10-1, 0), false},
		"too small to write":     {sizes(0, 1), false},
		"far too large to read":  {sizes(64<<20+1, 0), false},
		"far too large to write": {sizes(0, 1<<30), false},
	} {
		if _, err := nfsserver.New(tt.cfg); (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConfigIsCopied: the server does not see later changes of its Config.
func TestConfigIsCopied(t *testing.T) {
	x := export(newFS(t))
	x.Rules[0].Clients = prefixes("10.0.0.0/8")
	list := []nfsserver.Export{x}
	rpc := serve(t, nfsserver.Config{Exports: list})
	list[0].Rules[0].Clients[0] = netip.MustParsePrefix("0.0.0.0/0")
	list[0].Path = "/other"
	if _, err := nfsclient.Mount(t.Context(), pipe.NewFrom(rpc, pipe.Inline, peer("192.0.2.1", 1)), auth(t, 0), "/"); !errors.Is(err, mount3.ErrAcces) {
		t.Errorf("got %v, want %v", err, mount3.ErrAcces)
	}
}

func TestMount(t *testing.T) {
	ctx := t.Context()
	outer, inner, other := newFS(t), newFS(t), newFS(t)
	// The longest matching path counts, wherever it is in the list.
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{
		{Path: "/srv/other", FS: other, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}},
		{Path: "/srv", FS: outer, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}},
		{Path: "/srv/inner", FS: inner, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}},
	}})
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
		{"/srv/other", other.Root(), mount3.OK},
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
		{"/srv/" + strings.Repeat("n", 255), nfs3.FH{}, mount3.ErrNoEnt},
		{"/srv/" + strings.Repeat("n", 256), nfs3.FH{}, mount3.ErrNameTooLong},
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
	if r, err := c.Write(ctx, o.File, 0, p, nfs3.Unstable); err != nil || r.N != 4096 {
		t.Errorf("write over the limit: %+v, %v", r, err)
	}
	if a, err := c.GetAttr(ctx, o.File); err != nil || a.Size != 5*4096 {
		t.Errorf("%v, %+v", err, a)
	}
	pc, err := c.PathConf(ctx, root)
	if err != nil || pc.NameMax != 255 || !pc.NoTrunc || pc.CaseInsensitive {
		t.Errorf("%v, %+v", err, pc)
	}
}

// TestVerifier: the verifier stays the same while the server runs, and the next server has another.
func TestVerifier(t *testing.T) {
	ctx := t.Context()
	fs := newFS(t)
	var seen []nfs3.Verifier
	for i := range 2 {
		rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
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
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	for name, tt := range map[string]struct {
		auth oncrpc.ClientFlavor
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
