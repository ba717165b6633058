package nfsfs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

func TestResolve(t *testing.T) {
	f := local(t, nfsfs.Config{})
	ctx := t.Context()
	ok(t, f.MkdirAll(ctx, "a/b", 0o755))
	write(t, f, "top", "")
	write(t, f, "a/mid", "")
	write(t, f, "a/b/low", "")
	links := map[string]string{
		"a/rel": "b/low", "a/up": "../top", "a/dir": "b", "a/dirslash": "b/", "a/fileslash": "mid/", "a/dots": ".//b/./../mid",
		"abs": export + "/a/b/low", "absroot": export, "absodd": "/srv/./data//a", "absout": "/srv/other", "absnear": export + "x/a", "etc": "/etc/passwd",
		"a/out": "../../top", "absup": export + "/../data/top", "loop": "loop", "a/pong": "../ping", "ping": "a/pong", "dangling": "a/none", "self": ".",
		"chain0": "top",
	}
	for i := range 40 {
		links[fmt.Sprint("chain", i+1)] = fmt.Sprint("chain", i)
	}
	for name, target := range links {
		ok(t, f.Symlink(ctx, target, name))
	}
	ids := make(map[uint64]string)
	for _, name := range []string{"", "a", "a/b", "top", "a/mid", "a/b/low"} {
		ids[must(f.Lstat(ctx, name))(t).Attr().FileID] = name
	}
	const link = "a link"
	for _, tt := range []struct {
		name  string
		stat  string // where Stat leads
		lstat string
		err   error // of Stat; also of Lstat, unless the file is a link
	}{
		{name: ""},
		{name: "."},
		{name: "/"},
		{name: "//./"},
		{name: ".."},
		{name: "/../.."},
		{name: "a/.."},
		{name: "a/b/../.."},
		{name: "a", stat: "a", lstat: "a"},
		{name: "/a//", stat: "a", lstat: "a"},
		{name: "a/.", stat: "a", lstat: "a"},
		{name: "a/b/../b/.//low", stat: "a/b/low", lstat: "a/b/low"},
		{name: "../a/../../top", stat: "top", lstat: "top"},
		{name: "none", err: nfs3.ErrNoEnt},
		{name: "none/", err: nfs3.ErrNoEnt},
		{name: "none/x", err: nfs3.ErrNoEnt},
		{name: "none/..", err: nfs3.ErrNoEnt},
		{name: "top/", err: nfs3.ErrNotDir},
		{name: "top/.", err: nfs3.ErrNotDir},
		{name: "top/..", err: nfs3.ErrNotDir},
		{name: "top/x", err: nfs3.ErrNotDir},
		{name: "a/rel", stat: "a/b/low", lstat: link},
		{name: "a/rel/", err: nfs3.ErrNotDir},
		{name: "a/up", stat: "top", lstat: link},
		{name: "a/dir", stat: "a/b", lstat: link},
		{name: "a/dir/", stat: "a/b", lstat: "a/b"},
		{name: "a/dir/low", stat: "a/b/low", lstat: "a/b/low"},
		{name: "a/dir/..", stat: "a", lstat: "a"},
		{name: "self/a/dir/../../self/top", stat: "top", lstat: "top"},
		{name: "a/dirslash", stat: "a/b", lstat: link},
		{name: "a/fileslash", err: nfs3.ErrNotDir, lstat: link},
		{name: "a/dots", stat: "a/mid", lstat: link},
		{name: "abs", stat: "a/b/low", lstat: link},
		{name: "absroot", lstat: link},
		{name: "absroot/a/b", stat: "a/b", lstat: "a/b"},
		{name: "absroot/..", stat: "", lstat: ""},
		{name: "absodd/mid", stat: "a/mid", lstat: "a/mid"},
		{name: "absout", err: nfsfs.ErrEscape, lstat: link},
		{name: "absnear", err: nfsfs.ErrEscape, lstat: link},
		{name: "etc", err: nfsfs.ErrEscape, lstat: link},
		{name: "etc/x", err: nfsfs.ErrEscape},
		{name: "a/out", err: nfsfs.ErrEscape, lstat: link},
		{name: "absup", err: nfsfs.ErrEscape, lstat: link},
		{name: "loop", err: nfsfs.ErrLoop, lstat: link},
		{name: "loop/x", err: nfsfs.ErrLoop},
		{name: "ping", err: nfsfs.ErrLoop, lstat: link},
		{name: "chain39", stat: "top", lstat: link},
		{name: "chain40", err: nfsfs.ErrLoop, lstat: link},
		{name: "dangling", err: nfs3.ErrNoEnt, lstat: link},
		{name: "dangling/", err: nfs3.ErrNoEnt},
		{name: "a\x00b", err: fs.ErrInvalid},
		{name: "a/\x00", err: fs.ErrInvalid},
		{name: strings.Repeat("n", 256), err: nfs3.ErrNameTooLong},
	} {
		check := func(op string, i *nfsfs.Info, err error, want string, fails error) {
			t.Helper()
			var p *fs.PathError
			switch {
			case fails != nil:
				if !errors.Is(err, fails) || !errors.As(err, &p) || p.Path != tt.name {
					t.Errorf("%s %q: got %v, want %v", op, tt.name, err, fails)
				}
			case err != nil:
				t.Errorf("%s %q: %v", op, tt.name, err)
			case want == link:
				if i.Type() != fs.ModeSymlink {
					t.Errorf("%s %q: got %v", op, tt.name, i)
				}
			case ids[i.Attr().FileID] != want:
				t.Errorf("%s %q: got %q, want %q", op, tt.name, ids[i.Attr().FileID], want)
			}
		}
		i, err := f.Stat(ctx, tt.name)
		check("stat", i, err, tt.stat, tt.err)
		fails := tt.err
		if tt.lstat == link {
			fails = nil
		}
		i, err = f.Lstat(ctx, tt.name)
		check("lstat", i, err, tt.lstat, fails)
	}
}

// TestNoExport: without Config.Export, all links to absolute paths lead outside.
func TestNoExport(t *testing.T) {
	f := local(t, nfsfs.Config{})
	ctx := t.Context()
	ok(t, f.Symlink(ctx, export, "abs"))
	g := nfsfs.New(nfsfs.Client(f), must(f.Stat(ctx, ""))(t).Handle(), nfsfs.Config{})
	if _, err := g.Stat(ctx, "abs"); !errors.Is(err, nfsfs.ErrEscape) {
		t.Errorf("got %v, want %v", err, nfsfs.ErrEscape)
	}
}

// TestOddNames: names may have any bytes.
func TestOddNames(t *testing.T) {
	overAll(t, nfsfs.Config{}, func(t *testing.T, f *nfsfs.FS) {
		ctx := t.Context()
		names := []string{" ", "\n", "\xff\xfe", "caf\xe9", "zwölf", "...", "-", "a\\b", "*", strings.Repeat("\x80", 255)}
		for _, name := range names {
			ok(t, f.Mkdir(ctx, name, 0o755))
			write(t, f, name+"/"+name, name)
			o := must(f.Open(ctx, name+"/"+name))(t)
			p := make([]byte, 300)
			if n, _ := o.Read(p); string(p[:n]) != name || o.Name() != name+"/"+name {
				t.Errorf("%q: read %q", name, p[:n])
			}
			ok(t, o.Close(), f.Rename(ctx, name+"/"+name, name+"/x"), f.Symlink(ctx, name, name+"/"+name))
			if got := must(f.ReadLink(ctx, name+"/"+name))(t); got != name {
				t.Errorf("%q: link to %q", name, got)
			}
		}
		var got []string
		for _, e := range must(f.ReadDir(ctx, ""))(t) {
			got = append(got, e.Name())
		}
		slices.Sort(names)
		if !slices.Equal(got, names) {
			t.Errorf("listed %q, want %q", got, names)
		}
		for _, name := range names {
			ok(t, f.RemoveAll(ctx, name))
		}
		if left := must(f.ReadDir(ctx, ""))(t); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestRootFile: the root may be a file.
func TestRootFile(t *testing.T) {
	f := local(t, nfsfs.Config{})
	ctx := t.Context()
	write(t, f, "file", "text")
	g := nfsfs.New(nfsfs.Client(f), must(f.Stat(ctx, "file"))(t).Handle(), nfsfs.Config{})
	o := must(g.Open(ctx, ""))(t)
	defer o.Close()
	p := make([]byte, 10)
	if n, _ := o.Read(p); string(p[:n]) != "text" {
		t.Errorf("read %q", p[:n])
	}
	if _, err := g.Stat(ctx, "x"); !errors.Is(err, nfs3.ErrNotDir) {
		t.Errorf("below: %v", err)
	}
}
