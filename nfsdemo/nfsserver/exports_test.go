package nfsserver_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// exportsClient serves two worlds. The second may be read-only.
func exportsClient(tb testing.TB, a, b *world, readOnly bool) *oncrpc.Client {
	tb.Helper()
	rpc := serve(tb, nfsserver.Config{Exports: []nfsserver.Export{
		{Path: "/a", FS: a.fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}},
		{Path: "/b", FS: b.fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone, ReadOnly: readOnly}}},
	}})
	return nfsOn(pipe.New(rpc, pipe.Chunked), auth(tb, 0))
}

// counted makes a server for tests of its counters, and the RPC server that runs it.
func counted(tb testing.TB, cfg nfsserver.Config) (*nfsserver.Server, *oncrpc.Server) {
	tb.Helper()
	s, err := nfsserver.New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	rpc.Handle(s.Programs()...)
	tb.Cleanup(func() { rpc.Shutdown(context.Background()) })
	return s, rpc
}

// TestReadOnly: in a read-only export, changes fail with the current attributes, and everything
// else works.
func TestReadOnly(t *testing.T) {
	w := newWorld(t)
	x := export(w.fs)
	x.Rules[0].ReadOnly = true
	s, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{x}})
	c := nfsOn(pipe.New(rpc, pipe.Chunked), auth(t, 0))
	before := map[nfs3.FH]nfs3.Fattr{w.root: attrOf(t, c, w.root), w.file: attrOf(t, c, w.file), w.dir: attrOf(t, c, w.dir)}
	refused := uint64(0)
	for _, op := range operations {
		h := w.root
		switch op.proc {
		case nfs3.ProcSetAttr, nfs3.ProcRead, nfs3.ProcWrite, nfs3.ProcLink, nfs3.ProcCommit:
			h = w.file
		case nfs3.ProcReadLink:
			h = w.symlink
		}
		res := op.res()
		got, want := do(t, c, op.proc, op.args(h, w.root, "dir"), res), nfs3.OK
		if op.changes {
			want = nfs3.ErrROFS
			refused++
		}
		if got != want {
			t.Errorf("%v: got %v, want %v", &op, got, want)
		}
		if !op.changes {
			continue
		}
		for _, wcc := range wccOf(t, res) {
			if !wcc.After.Present || wcc.Before.Present || wcc.After.Attr.FileID != before[h].FileID && wcc.After.Attr.FileID != before[w.root].FileID {
				t.Errorf("%v: attributes %+v", &op, wcc)
			}
		}
		if got := do(t, c, op.proc, op.args(w.stale, w.root, "dir"), op.res()); got != nfs3.ErrStale {
			t.Errorf("%v of a stale handle: got %v, want %v", &op, got, nfs3.ErrStale)
		}
	}
	for h, want := range before {
		if got := attrOf(t, c, h); got.Ctime != want.Ctime || got.Mtime != want.Mtime || got.Nlink != want.Nlink {
			t.Errorf("changed: %+v, was %+v", got, want)
		}
	}
	for h, want := range map[nfs3.FH]nfs3.Access{
		w.dir:  nfs3.AccessRead | nfs3.AccessLookup,
		w.file: nfs3.AccessRead | nfs3.AccessExecute,
	} {
		var res nfs3.AccessRes
		if do(t, c, nfs3.ProcAccess, &nfs3.AccessArgs{File: h, Want: nfs3.AccessAll}, &res); res.Granted != want {
			t.Errorf("ACCESS: got %#x, want %#x", res.Granted, want)
		}
	}
	if got := s.Stats(); got.ReadOnly != refused || got.StaleHandles != refused {
		t.Errorf("counters: %+v, want %d refusals", got, refused)
	}
}

// wccOf returns the wcc_data in results.
func wccOf(tb testing.TB, res results) []nfs3.WccData {
	switch r := res.(type) {
	case *nfs3.SetAttrRes:
		return []nfs3.WccData{r.Wcc}
	case *nfs3.WriteRes:
		return []nfs3.WccData{r.Wcc}
	case *nfs3.CreateRes:
		return []nfs3.WccData{r.Dir}
	case *nfs3.RemoveRes:
		return []nfs3.WccData{r.Dir}
	case *nfs3.RenameRes:
		return []nfs3.WccData{r.From, r.To}
	case *nfs3.LinkRes:
		return []nfs3.WccData{r.Dir}
	}
	tb.Fatalf("%T has no wcc_data", res)
	return nil
}

// TestSquash: the user that a caller becomes in each export.
func TestSquash(t *testing.T) {
	anon := &vfs.Cred{UID: 77, GID: 88, GIDs: []uint32{99}}
	const none = 1<<32 - 1
	for _, tt := range []struct {
		name   string
		squash nfsserver.Squash
		anon   *vfs.Cred
		cred   *oncrpc.SysCred // nil is AUTH_NONE
		want   vfs.Cred
	}{
		{"root: root", nfsserver.SquashRoot, nil, &oncrpc.SysCred{}, vfs.Cred{UID: 65534, GID: 65534}},
		{"root: root, anon named", nfsserver.SquashRoot, anon, &oncrpc.SysCred{}, vfs.Cred{UID: 77, GID: 88}},
		{"root: root of a group", nfsserver.SquashRoot, anon, &oncrpc.SysCred{GID: 5}, vfs.Cred{UID: 77, GID: 5}},
		{"root: user of group 0", nfsserver.SquashRoot, anon, &oncrpc.SysCred{UID: 5}, vfs.Cred{UID: 5, GID: 88}},
		{"root: groups", nfsserver.SquashRoot, anon, &oncrpc.SysCred{UID: 5, GID: 6, GIDs: []uint32{7, 0, 8}}, vfs.Cred{UID: 5, GID: 6, GIDs: []uint32{7, 88, 8}}},
		{"root: user", nfsserver.SquashRoot, anon, &oncrpc.SysCred{UID: 5, GID: 6}, vfs.Cred{UID: 5, GID: 6}},
		{"root: nobody said", nfsserver.SquashRoot, anon, nil, vfs.Cred{UID: 77, GID: 88, GIDs: []uint32{99}}},
		{"root: no id", nfsserver.SquashRoot, anon, &oncrpc.SysCred{UID: none, GID: none, GIDs: []uint32{none}}, vfs.Cred{UID: 77, GID: 88, GIDs: []uint32{88}}},
		{"none: root", nfsserver.SquashNone, anon, &oncrpc.SysCred{GIDs: []uint32{0, 4}}, vfs.Cred{GIDs: []uint32{0, 4}}},
		{"none: user", nfsserver.SquashNone, anon, &oncrpc.SysCred{UID: 5, GID: 6}, vfs.Cred{UID: 5, GID: 6}},
		{"none: nobody said", nfsserver.SquashNone, nil, nil, vfs.Cred{UID: 65534, GID: 65534}},
		{"none: no id", nfsserver.SquashNone, nil, &oncrpc.SysCred{UID: none, GID: none}, vfs.Cred{UID: 65534, GID: 65534}},
		{"all: root", nfsserver.SquashAll, nil, &oncrpc.SysCred{}, vfs.Cred{UID: 65534, GID: 65534}},
		{"all: user", nfsserver.SquashAll, anon, &oncrpc.SysCred{UID: 5, GID: 6, GIDs: []uint32{7, 8}}, vfs.Cred{UID: 77, GID: 88, GIDs: []uint32{99}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			spy := &spy{FS: newFS(t)}
			rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: spy, Rules: []nfsserver.Rule{{Squash: tt.squash, Anon: tt.anon}}}}})
			cred := oncrpc.AuthNone()
			if tt.cred != nil {
				var err error
				if cred, err = oncrpc.AuthSys(*tt.cred); err != nil {
					t.Fatal(err)
				}
			}
			// The second call uses the memory of the first.
			for range 2 {
				if _, err := nfsclient.New(pipe.New(rpc, pipe.Inline), cred).Access(t.Context(), spy.Root(), nfs3.AccessRead); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.want, spy.seen); diff != "" {
					t.Errorf("(-want +got)\n%s", diff)
				}
			}
			if _, err := nfsclient.New(pipe.New(rpc, pipe.Inline), cred).Mount(t.Context(), "/none"); !errors.Is(err, mount3.ErrNoEnt) {
				t.Errorf("MNT: %v", err)
			}
			if diff := cmp.Diff(tt.want, spy.seen); diff != "" {
				t.Errorf("MNT: (-want +got)\n%s", diff)
			}
		})
	}
}

// spy is a file system that records its callers.
type spy struct {
	vfs.FS
	seen vfs.Cred
}

func (s *spy) see(c *vfs.Cred) {
	s.seen = vfs.Cred{UID: c.UID, GID: c.GID, GIDs: append([]uint32(nil), c.GIDs...)}
}

func (s *spy) Access(ctx context.Context, c *vfs.Cred, h nfs3.FH, want nfs3.Access) (nfs3.Access, nfs3.PostOpAttr, error) {
	s.see(c)
	return s.FS.Access(ctx, c, h, want)
}

func (s *spy) Lookup(ctx context.Context, c *vfs.Cred, h nfs3.FH, name string) (vfs.Object, nfs3.PostOpAttr, error) {
	s.see(c)
	return s.FS.Lookup(ctx, c, h, name)
}

// TestStats: each counter counts what its documentation says.
func TestStats(t *testing.T) {
	w := newWorld(t)
	s, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}})
	conn := pipe.New(rpc, pipe.Inline)
	c := nfsOn(conn, auth(t, 0))
	call := func(h nfs3.FH) { do(t, c, nfs3.ProcGetAttr, &nfs3.GetAttrArgs{File: h}, new(nfs3.GetAttrRes)) }
	if got := s.Stats(); got != (nfsserver.Stats{}) {
		t.Errorf("at first: %+v", got)
	}
	mnt(t, conn, "/")
	call(w.root)
	for i, h := range []nfs3.FH{{}, w.stale, nfs3.MakeFH(w.root.Bytes()[:9]), w.foreign, w.stale} {
		call(h)
		if got := s.Stats(); int(got.BadHandles+got.StaleHandles) != i+1 {
			t.Errorf("after %d bad ones: %+v", i+1, got)
		}
	}
	if got, want := s.Stats(), (nfsserver.Stats{Mounts: 1, BadHandles: 2, StaleHandles: 3}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestExportStats: an export counts its calls, their bytes, and their errors.
func TestExportStats(t *testing.T) {
	w := newWorld(t)
	s, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}})
	conn := pipe.New(rpc, pipe.Inline)
	c := nfsOn(conn, auth(t, 0))
	mnt(t, conn, "/")
	mnt(t, conn, "/dir") // from the same host
	writeTo(t, c, w.file, 0, make([]byte, 100), nfs3.FileSync)
	for range 3 {
		do(t, c, nfs3.ProcRead, &nfs3.ReadArgs{File: w.file, Offset: 10, Count: 50},
			&nfs3.ReadRes{Into: make([]byte, 50)})
	}
	do(t, c, nfs3.ProcLookup, &nfs3.LookupArgs{What: at(w.root, "missing")}, new(nfs3.LookupRes))
	// Counts for no export.
	do(t, c, nfs3.ProcGetAttr, &nfs3.GetAttrArgs{File: w.foreign}, new(nfs3.GetAttrRes))
	want := nfsserver.ExportStats{
		Path: "/", BytesRead: 150, BytesWritten: 100, Clients: 1,
		Failed: map[nfs3.Status]uint64{nfs3.ErrNoEnt: 1},
	}
	want.Calls[nfs3.ProcWrite], want.Calls[nfs3.ProcRead], want.Calls[nfs3.ProcLookup] = 1, 3, 1
	if diff := cmp.Diff([]nfsserver.ExportStats{want}, s.ExportStats()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func prefixes(s ...string) (list []netip.Prefix) {
	for _, p := range s {
		list = append(list, netip.MustParsePrefix(p))
	}
	return list
}

// TestClients: MNT and every other call check the client's address.
func TestClients(t *testing.T) {
	tcp := func(ip, zone string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 700, Zone: zone} }
	for _, tt := range []struct {
		name    string
		clients []netip.Prefix
		peer    net.Addr
		ok      bool
	}{
		{"no list", nil, tcp("192.0.2.1", ""), true},
		{"no list, no IP", nil, &net.UnixAddr{Name: "x"}, true},
		{"in it", prefixes("10.0.0.0/8"), tcp("10.1.2.3", ""), true},
		{"in the second", prefixes("10.0.0.0/8", "192.0.2.1/32"), tcp("192.0.2.1", ""), true},
		{"bits beyond the prefix", prefixes("10.9.9.9/8"), tcp("10.1.2.3", ""), true},
		{"four bytes", prefixes("10.0.0.0/8"), &net.TCPAddr{IP: net.IPv4(10, 1, 2, 3).To4()}, true},
		{"mapped", prefixes("10.0.0.0/8"), net.TCPAddrFromAddrPort(netip.MustParseAddrPort("[::ffff:10.1.2.3]:1")), true},
		{"UDP", prefixes("10.0.0.0/8"), &net.UDPAddr{IP: net.IPv4(10, 1, 2, 3)}, true},
		{"IPv6", prefixes("2001:db8::/32"), tcp("2001:db8::1", ""), true},
		{"zone", prefixes("fe80::/10"), tcp("fe80::1", "eth0"), true},
		{"beside it", prefixes("10.0.0.0/8"), tcp("11.1.2.3", ""), false},
		{"all of IPv6", prefixes("::/0"), tcp("10.1.2.3", ""), false},
		{"all of IPv4", prefixes("0.0.0.0/0"), tcp("::1", ""), false},
		{"no IP", prefixes("0.0.0.0/0", "::/0"), &net.UnixAddr{Name: "x"}, false},
		{"no address", prefixes("0.0.0.0/0", "::/0"), (*net.TCPAddr)(nil), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			x := export(w.fs)
			x.Rules[0].Clients = tt.clients
			var log bytes.Buffer
			s, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{x}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			conn := pipe.NewFrom(rpc, pipe.Chunked, tt.peer)
			_, err := nfsclient.Mount(t.Context(), conn, auth(t, 0), "/dir")
			if tt.ok && err != nil || !tt.ok && !errors.Is(err, mount3.ErrAcces) {
				t.Errorf("MNT: %v", err)
			}
			c := nfsOn(conn, auth(t, 0))
			refused := uint64(1)
			for _, op := range operations {
				if got := do(t, c, op.proc, op.args(w.file, w.root, "name"), op.res()); (got != nfs3.ErrAcces) != tt.ok {
					t.Errorf("%v: %v", &op, got)
				}
				refused++
			}
			lines := strings.Count(log.String(), "\n")
			switch got := s.Stats(); {
			case tt.ok && (got.Refused != 0 || got.Mounts != 1 || lines != 1 ||
				!strings.Contains(log.String(), "nfs: mounted")):
				t.Errorf("counters %+v, log:\n%s", got, log.String())
			case !tt.ok && (got.Refused != refused || got.Mounts != 0 || lines != 1):
				t.Errorf("counters %+v, want %d refused; log:\n%s", got, refused, log.String())
			}
		})
	}
}

// TestRefusalLog: peers cannot fill the log.
func TestRefusalLog(t *testing.T) {
	x := export(newFS(t))
	x.Rules[0].Clients = prefixes("127.0.0.1/32")
	var log bytes.Buffer
	s, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{x}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	const peers = 1000
	for i := range peers {
		conn := pipe.NewFrom(rpc, pipe.Inline, &net.TCPAddr{IP: net.IPv4(10, 0, byte(i>>8), byte(i))})
		if _, err := nfsclient.Mount(t.Context(), conn, auth(t, 0), "/"); !errors.Is(err, mount3.ErrAcces) {
			t.Fatal(err)
		}
	}
	if n := strings.Count(log.String(), "\n"); n != 257 {
		t.Errorf("%d lines, want 256, and one for all others", n)
	}
	if n := s.Stats().Refused; n != peers {
		t.Errorf("%d refused, want %d", n, peers)
	}
}

// TestRulesByHandle: the rules of the handle's export apply, wherever the client got the handle.
func TestRulesByHandle(t *testing.T) {
	open, closed := newWorld(t), newWorld(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{
		{Path: "/open", FS: open.fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}},
		{Path: "/closed", FS: closed.fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone, Clients: prefixes("10.0.0.0/8")}}},
	}})
	conn := pipe.NewFrom(rpc, pipe.Inline, &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1)})
	c := nfsOn(conn, auth(t, 0))
	attrOf(t, c, open.root)
	if got := do(t, c, nfs3.ProcRename, &nfs3.RenameArgs{From: at(open.root, "file"), To: at(closed.root, "file")}, new(nfs3.RenameRes)); got != nfs3.ErrAcces {
		t.Errorf("RENAME into it: got %v, want %v", got, nfs3.ErrAcces)
	}
	if got := do(t, c, nfs3.ProcLink, &nfs3.LinkArgs{File: closed.file, Where: at(open.root, "new")}, new(nfs3.LinkRes)); got != nfs3.ErrAcces {
		t.Errorf("LINK of its file: got %v, want %v", got, nfs3.ErrAcces)
	}
}
