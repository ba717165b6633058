package nfsserver_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
)

func getAttr(tb testing.TB, c *oncrpc.Client, h nfs3.FH) nfs3.Status {
	tb.Helper()
	return do(tb, c, nfs3.ProcGetAttr, &nfs3.GetAttrArgs{File: h}, new(nfs3.GetAttrRes))
}

// TestSetExports: exports are added, removed and changed while clients have them mounted.
func TestSetExports(t *testing.T) {
	stays, goes, comes := newWorld(t), newWorld(t), newWorld(t)
	rule := func(r nfsserver.Rule) []nfsserver.Rule {
		r.Squash = nfsserver.SquashNone
		return []nfsserver.Rule{r}
	}
	var removed atomic.Int32
	exports := []nfsserver.Export{
		{Path: "/stays", FS: stays.fs, Rules: rule(nfsserver.Rule{})},
		{Path: "/goes", FS: goes.fs, Rules: rule(nfsserver.Rule{}), Removed: func() { removed.Add(1) }},
	}
	s, rpc := counted(t, nfsserver.Config{Exports: exports})
	conn := pipe.NewFrom(rpc, pipe.Chunked, peer("192.0.2.1", 700))
	c := nfsOn(conn, auth(t, 0))
	for _, h := range []nfs3.FH{stays.file, goes.file} {
		if got := getAttr(t, c, h); got != nfs3.OK {
			t.Fatal(got)
		}
	}
	set := func(exports ...nfsserver.Export) {
		t.Helper()
		if err := s.SetExports(exports); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what string, stay, go_, come nfs3.Status) {
		t.Helper()
		for name, want := range map[string]struct {
			h nfs3.FH
			nfs3.Status
		}{"stays": {stays.file, stay}, "goes": {goes.file, go_}, "comes": {comes.file, come}} {
			if got := getAttr(t, c, want.h); got != want.Status {
				t.Errorf("%s, a file that %s: %v, want %v", what, name, got, want.Status)
			}
		}
	}
	check("first", nfs3.OK, nfs3.OK, nfs3.ErrStale)
	exports[0].Rules = rule(nfsserver.Rule{ReadOnly: true})
	set(exports[0], nfsserver.Export{Path: "/comes", FS: comes.fs, Rules: rule(nfsserver.Rule{})})
	check("another came", nfs3.OK, nfs3.ErrStale, nfs3.OK)
	if n := removed.Load(); n != 1 {
		t.Errorf("removed %d times", n)
	}
	if got := do(t, c, nfs3.ProcRemove, &nfs3.RemoveArgs{What: at(stays.root, "file")}, new(nfs3.RemoveRes)); got != nfs3.ErrROFS {
		t.Errorf("REMOVE, read-only now: %v", got)
	}
	if got := s.ExportStats()[0]; got.Calls[nfs3.ProcGetAttr] != 3 {
		t.Errorf("the export that stays has counted %d", got.Calls[nfs3.ProcGetAttr])
	}
	if _, err := nfsclient.Mount(t.Context(), conn, auth(t, 0), "/goes"); !errors.Is(err, mount3.ErrNoEnt) {
		t.Errorf("mount of what is gone: %v", err)
	}
	list, err := nfsclient.Exports(t.Context(), conn, auth(t, 0))
	if err != nil || len(list) != 2 || list[1].Path != "/comes" {
		t.Errorf("%v, %v", list, err)
	}
	exports[0].Rules = rule(nfsserver.Rule{Clients: prefixes("198.51.100.0/24")})
	set(exports[0])
	check("for others", nfs3.ErrAcces, nfs3.ErrStale, nfs3.ErrStale)

	// An error changes nothing.
	for _, bad := range [][]nfsserver.Export{
		{exports[0], {Path: "x", FS: goes.fs}},
		{exports[0], {Path: "/stays", FS: goes.fs}},
		{exports[0], {Path: "/other", FS: stays.fs}},
		{exports[0], {Path: "/blocks", FS: blocking{goes.fs}}},
	} {
		if err := s.SetExports(bad); err == nil {
			t.Errorf("no error of %+v", bad[1])
		}
	}
	check("for others still", nfs3.ErrAcces, nfs3.ErrStale, nfs3.ErrStale)
	set()
	check("none", nfs3.ErrStale, nfs3.ErrStale, nfs3.ErrStale)
}

// blocking is a file system that declares that it may block.
type blocking struct{ vfs.FS }

func (b blocking) Info() vfs.FSInfo {
	i := b.FS.Info()
	i.NonBlocking = false
	return i
}

// held is a file system whose GETATTR waits.
type held struct {
	blocking
	began, goOn chan struct{}
}

func (h held) GetAttr(ctx context.Context, fh nfs3.FH) (nfs3.Fattr, error) {
	h.began <- struct{}{}
	<-h.goOn
	return h.blocking.GetAttr(ctx, fh)
}

// TestRemovedAfterCalls: Removed is called after the running call has ended, and the call is not
// disturbed.
func TestRemovedAfterCalls(t *testing.T) {
	w := newWorld(t)
	fs := held{blocking{w.fs}, make(chan struct{}), make(chan struct{})}
	removed := make(chan struct{})
	x := export(fs)
	x.Removed = func() { close(removed) }
	s, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{x}})
	c := nfsOn(pipe.New(rpc, pipe.Inline), auth(t, 0))
	answer := make(chan nfs3.Status)
	go func() { answer <- getAttr(t, c, w.file) }()
	<-fs.began
	if err := s.SetExports(nil); err != nil {
		t.Fatal(err)
	}
	select {
	case <-removed:
		t.Error("removed during a call")
	default:
	}
	if got := getAttr(t, c, w.file); got != nfs3.ErrStale {
		t.Errorf("a call after it: %v", got)
	}
	close(fs.goOn)
	if got := <-answer; got != nfs3.OK {
		t.Errorf("the call that had begun: %v", got)
	}
	<-removed
}

// TestSetExportsRace: exports change while calls are made.
func TestSetExportsRace(t *testing.T) {
	one, two := newWorld(t), newWorld(t)
	x, y := export(one.fs), export(two.fs)
	y.Path = "/two"
	s, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{x, y}})
	var all sync.WaitGroup
	for range 4 {
		c := nfsOn(pipe.New(rpc, pipe.Inline), auth(t, 0))
		all.Go(func() {
			for range 300 {
				if got := getAttr(t, c, one.file); got != nfs3.OK {
					t.Errorf("an export that stays: %v", got)
				}
				if got := getAttr(t, c, two.file); got != nfs3.OK && got != nfs3.ErrStale {
					t.Errorf("one that comes and goes: %v", got)
				}
			}
		})
	}
	for i := range 200 {
		list := []nfsserver.Export{x, y}
		if err := s.SetExports(list[:1+i%2]); err != nil {
			t.Error(err)
		}
	}
	all.Wait()
}

// TestRules: the first rule that matches a peer applies. A port below 1024 counts over TCP alone:
// anywhere else any process may choose it.
func TestRules(t *testing.T) {
	w := newWorld(t)
	x := export(w.fs)
	x.Rules = []nfsserver.Rule{
		{Clients: prefixes("192.0.2.7/32"), ReadOnly: true, Squash: nfsserver.SquashNone},
		{Clients: prefixes("192.0.2.0/24"), Privileged: true, Squash: nfsserver.SquashNone},
		{Clients: prefixes("2001:db8::/32", "127.0.0.1/32"), Squash: nfsserver.SquashNone},
	}
	at := netip.MustParseAddrPort("192.0.2.8:1023")
	_, rpc := counted(t, nfsserver.Config{Exports: []nfsserver.Export{x}})
	mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o777}}
	for _, tt := range []struct {
		peer net.Addr
		want nfs3.Status
	}{
		{peer("192.0.2.7", 2000), nfs3.ErrROFS},
		{peer("192.0.2.8", 1023), nfs3.OK},
		{peer("192.0.2.9", 1024), nfs3.ErrAcces},
		{peer("2001:db8::1", 2000), nfs3.OK},
		{peer("198.51.100.1", 700), nfs3.ErrAcces},
		{&net.UnixAddr{Name: "x"}, nfs3.ErrAcces},
		{net.UDPAddrFromAddrPort(at), nfs3.ErrAcces},
		{roce.Addr{IP: at.Addr(), Port: at.Port()}, nfs3.ErrAcces},
		{sctp.Addr{IP: at.Addr(), Port: at.Port(), UDPPort: at.Port()}, nfs3.ErrAcces},
		{peer("127.0.0.1", 2000), nfs3.OK},
		{peer("127.9.8.7", 2000), nfs3.OK},
	} {
		c := nfsOn(pipe.NewFrom(rpc, pipe.Inline, tt.peer), auth(t, 0))
		got := do(t, c, nfs3.ProcSetAttr, &nfs3.SetAttrArgs{File: w.file, Set: mode}, new(nfs3.SetAttrRes))
		if got != tt.want {
			t.Errorf("%v: %v, want %v", tt.peer, got, tt.want)
		}
	}
}
