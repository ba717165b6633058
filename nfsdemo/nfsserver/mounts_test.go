package nfsserver_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

func peer(ip string, port int) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: port} }

func mnt(tb testing.TB, conn oncrpc.Transport, dir string) {
	tb.Helper()
	if _, err := nfsclient.Mount(tb.Context(), conn, auth(tb, 0), dir); err != nil {
		tb.Fatal(err)
	}
}

// TestMountList: the effect of MNT, UMNT and UMNTALL on the list that DUMP returns.
func TestMountList(t *testing.T) {
	ctx := t.Context()
	w := newWorld(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}})
	a, again, b := pipe.NewFrom(rpc, pipe.Inline, peer("10.0.0.1", 700)), pipe.NewFrom(rpc, pipe.Inline, peer("10.0.0.1", 800)), pipe.NewFrom(rpc, pipe.Inline, peer("::1", 700))
	local := pipe.NewFrom(rpc, pipe.Inline, &net.UnixAddr{Name: strings.Repeat("x", 300)})
	cred := auth(t, 0)
	check := func(what string, want ...mount3.Mount) {
		t.Helper()
		got, err := nfsclient.Dump(ctx, a, cred)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", what, diff)
		}
	}
	unmount := func(conn oncrpc.Transport, dir string) {
		t.Helper()
		if err := nfsclient.Unmount(ctx, conn, cred, dir); err != nil {
			t.Error(err)
		}
	}
	aRoot, aDir, bRoot := mount3.Mount{Host: "10.0.0.1", Path: "/"}, mount3.Mount{Host: "10.0.0.1", Path: "/dir"}, mount3.Mount{Host: "::1", Path: "/"}
	lRoot := mount3.Mount{Host: strings.Repeat("x", mount3.MaxName), Path: "/"}

	check("nothing is mounted")
	mnt(t, a, "/")
	mnt(t, b, "/")
	mnt(t, a, "/dir")
	mnt(t, local, "/")
	check("four mounts", aRoot, bRoot, aDir, lRoot)
	mnt(t, again, "//")
	check("again from another port, of the same path", bRoot, aDir, lRoot, aRoot)
	if _, err := nfsclient.Mount(ctx, a, cred, "/none"); err == nil {
		t.Error("/none can be mounted")
	}
	unmount(b, "/dir")
	unmount(b, "/none")
	unmount(b, "")
	check("what is not mounted was unmounted", bRoot, aDir, lRoot, aRoot)
	unmount(again, "/dir/")
	check("unmounted", bRoot, lRoot, aRoot)
	mnt(t, a, "/dir")
	if err := nfsclient.UnmountAll(ctx, again, cred); err != nil {
		t.Error(err)
	}
	check("all of one host's unmounted", bRoot, lRoot)
}

// TestMountListBound: a full list drops the oldest mounts.
func TestMountListBound(t *testing.T) {
	w := newWorld(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}})
	const peers, bound = 1100, 1024
	for i := range peers {
		mnt(t, pipe.NewFrom(rpc, pipe.Inline, peer(fmt.Sprintf("10.0.%d.%d", i>>8, i&255), 1)), "/dir")
	}
	got, err := nfsclient.Dump(t.Context(), pipe.New(rpc, pipe.Inline), auth(t, 0))
	if err != nil || len(got) != bound {
		t.Fatalf("%d mounts, %v; want %d", len(got), err, bound)
	}
	if first, last := got[0].Host, got[bound-1].Host; first != "10.0.0.76" || last != "10.0.4.75" {
		t.Errorf("from %s to %s", first, last)
	}
}

// TestExports: EXPORT lists the exports and their clients.
func TestExports(t *testing.T) {
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{
		{Path: "/srv/b", FS: newFS(t), Rules: []nfsserver.Rule{{Clients: prefixes("10.0.0.0/8", "2001:db8::/32")}}},
		{Path: "/", FS: newFS(t)},
	}})
	// Clients that may not mount an export still see it.
	got, err := nfsclient.Exports(t.Context(), pipe.NewFrom(rpc, pipe.Chunked, peer("192.0.2.1", 1)), oncrpc.AuthNone())
	if err != nil {
		t.Fatal(err)
	}
	want := []mount3.Export{{Path: "/srv/b", Groups: []string{"10.0.0.0/8", "2001:db8::/32"}}, {Path: "/"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestMountFlavors: AUTH_SYS comes first, so clients use it.
func TestMountFlavors(t *testing.T) {
	w := newWorld(t)
	var res mount3.MntRes
	err := mountOn(w.reach(t, pipe.Inline), oncrpc.AuthNone()).Do(t.Context(), &oncrpc.Request{
		Procedure: uint32(mount3.ProcMnt), Args: &mount3.MntArgs{Path: "/"}, Reply: &res, MaxReply: mount3.MntResMax})
	if err != nil || res.Status != mount3.OK || res.Root != w.root {
		t.Fatalf("%v: %+v", err, res)
	}
	if diff := cmp.Diff([]mount3.Flavor{1, 0}, res.Flavors); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestMountSquashed: the caller is squashed on the way to a directory below an export.
func TestMountSquashed(t *testing.T) {
	w := newWorld(t)
	set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o700}, UID: nfs3.Set32{Set: true, To: 77}}
	private, _, err := w.fs.Mkdir(t.Context(), &vfs.Cred{}, w.root, "private", &set)
	if err != nil {
		t.Fatal(err)
	}
	below, _, err := w.fs.Mkdir(t.Context(), &vfs.Cred{}, private.File, "below", &set)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		squash nfsserver.Squash
		anon   *vfs.Cred
		uid    uint32
		path   string
		want   mount3.Status
	}{
		{"root", nfsserver.SquashNone, nil, 0, "/private/below", mount3.OK},
		{"root squashed", nfsserver.SquashRoot, nil, 0, "/private/below", mount3.ErrAcces},
		{"root squashed, to it", nfsserver.SquashRoot, nil, 0, "/private", mount3.OK},
		{"owner", nfsserver.SquashRoot, nil, 77, "/private/below", mount3.OK},
		{"owner squashed", nfsserver.SquashAll, nil, 77, "/private/below", mount3.ErrAcces},
		{"squashed to the owner", nfsserver.SquashAll, &vfs.Cred{UID: 77}, 5, "/private/below", mount3.OK},
	} {
		x := export(w.fs)
		x.Rules = []nfsserver.Rule{{Squash: tt.squash, Anon: tt.anon}}
		conn := pipe.New(serve(t, nfsserver.Config{Exports: []nfsserver.Export{x}}), pipe.Inline)
		got, err := nfsclient.Mount(t.Context(), conn, auth(t, tt.uid), tt.path)
		if tt.want != mount3.OK && !errors.Is(err, tt.want) || tt.want == mount3.OK && (err != nil || got != below.File && got != private.File) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

// TestMountListConcurrent: the list can be used concurrently, and is empty at the end.
func TestMountListConcurrent(t *testing.T) {
	w := newWorld(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}})
	var g errgroup.Group
	for i := range 8 {
		g.Go(func() error {
			conn := pipe.NewFrom(rpc, pipe.Inline, peer("10.0.0.1", i+1))
			for range 50 {
				if _, err := nfsclient.Mount(t.Context(), conn, oncrpc.AuthNone(), "/dir"); err != nil {
					return err
				}
				list, err := nfsclient.Dump(t.Context(), conn, oncrpc.AuthNone())
				if err != nil || len(list) > 1 {
					return fmt.Errorf("%d mounts, %w", len(list), err)
				}
				if err := nfsclient.Unmount(t.Context(), conn, oncrpc.AuthNone(), "/dir"); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Error(err)
	}
	if list, err := nfsclient.Dump(t.Context(), pipe.New(rpc, pipe.Inline), oncrpc.AuthNone()); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}
