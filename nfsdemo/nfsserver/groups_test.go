package nfsserver_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// accesses records the callers of ACCESS.
type accesses struct {
	vfs.FS

	mu sync.Mutex // guards by
	by []vfs.Cred
}

func (a *accesses) Access(
	ctx context.Context, c *vfs.Cred, h nfs3.FH, want nfs3.Access,
) (nfs3.Access, nfs3.PostOpAttr, error) {
	by := *c
	by.GIDs = slices.Clone(c.GIDs)
	a.mu.Lock()
	a.by = append(a.by, by)
	a.mu.Unlock()
	return a.FS.Access(ctx, c, h, want)
}

// take returns the callers since the last take.
func (a *accesses) take() (by []vfs.Cred) {
	a.mu.Lock()
	defer a.mu.Unlock()
	by, a.by = a.by, nil
	return by
}

// TestGroups: Config.Groups replaces the groups in the call, however many there are. It is not
// called for squashed callers, and group 0 is still squashed.
func TestGroups(t *testing.T) {
	many := make([]uint32, 40)
	for i := range many {
		many[i] = uint32(100 + i)
	}
	for _, tt := range []struct {
		name   string
		uid    uint32
		squash nfsserver.Squash
		want   vfs.Cred
	}{
		{"a user", 1000, nfsserver.SquashRoot, vfs.Cred{UID: 1000, GID: 1000, GIDs: many}},
		{"one who is not known", 1001, nfsserver.SquashRoot, vfs.Cred{UID: 1001, GID: 1001}},
		{"root", 0, nfsserver.SquashRoot, vfs.Cred{UID: 65534, GID: 65534, GIDs: []uint32{65534, 5}}},
		{"all squashed", 1000, nfsserver.SquashAll, vfs.Cred{UID: 65534, GID: 65534}},
	} {
		w := newWorld(t)
		fs := &accesses{FS: w.fs}
		x := export(fs)
		x.Rules = []nfsserver.Rule{{Squash: tt.squash}}
		rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{x}, Blocking: true,
			Groups: func(peer net.Addr, uid uint32) ([]uint32, error) {
				if peer.String() != "pipe" {
					t.Errorf("%s: groups for the peer %v", tt.name, peer)
				}
				return map[uint32][]uint32{1000: many, 0: {0, 5}}[uid], nil
			}})
		cred, err := oncrpc.AuthSys(oncrpc.SysCred{UID: tt.uid, GID: tt.uid, GIDs: []uint32{1, 2, 3}})
		if err != nil {
			t.Fatal(err)
		}
		c := nfsOn(pipe.New(rpc, pipe.Inline), cred)
		do(t, c, nfs3.ProcAccess, &nfs3.AccessArgs{File: w.file}, new(nfs3.AccessRes))
		by := fs.take()
		if len(by) != 1 || by[0].UID != tt.want.UID || by[0].GID != tt.want.GID ||
			!slices.Equal(by[0].GIDs, tt.want.GIDs) {
			t.Errorf("%s: %+v, want %+v", tt.name, by, tt.want)
		}
	}
}

// TestGroupsNotKnownNow: a caller whose groups cannot be looked up at the moment is asked to try
// again, and no operation goes on with other groups. MNT waits for them for 5 seconds. Squashed
// callers are not affected.
func TestGroupsNotKnownNow(t *testing.T) { synctest.Test(t, testGroupsNotKnownNow) }

func testGroupsNotKnownNow(t *testing.T) {
	w := newWorld(t)
	fs := &accesses{FS: w.fs}
	down := errors.New("down")
	var groups atomic.Value // func() ([]uint32, error)
	groups.Store(func() ([]uint32, error) { return []uint32{5}, down })
	var log lines
	rpc := serve(t, nfsserver.Config{
		Exports:  []nfsserver.Export{export(fs)},
		Blocking: true, Logger: log.logger(),
		Groups: func(_ net.Addr, uid uint32) ([]uint32, error) {
			return groups.Load().(func() ([]uint32, error))()
		},
	})
	conn := pipe.New(rpc, pipe.Inline)
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{UID: 1000, GID: 1000, GIDs: []uint32{1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	c := nfsOn(conn, cred)
	for i := range operations {
		op := &operations[i]
		if got := do(t, c, op.proc, op.args(w.root, w.root, "name"), op.res()); got != nfs3.ErrJukebox {
			t.Errorf("%v: %v, want %v", op, got, nfs3.ErrJukebox)
		}
	}
	began := time.Now()
	_, err = nfsclient.Mount(t.Context(), conn, cred, "/")
	if waited := time.Since(began); !errors.Is(err, mount3.ErrServerFault) || waited != 5*time.Second {
		t.Errorf("MNT: %v, after %v", err, waited)
	}
	if by := fs.take(); len(by) != 0 {
		t.Errorf("the file system was asked for %+v", by)
	}
	log.want(t, `level=ERROR msg="nfs: cannot look up the groups of a user" uid=1000 err=down`,
		`level=WARN msg="nfs: mount refused" peer=pipe path=/ why=NFS3ERR_JUKEBOX export=/`)
	attrOf(t, nfsOn(conn, oncrpc.AuthNone()), w.file)

	time.AfterFunc(3*time.Second, func() {
		groups.Store(func() ([]uint32, error) { return []uint32{1000, 5}, nil })
	})
	if _, err = nfsclient.Mount(t.Context(), conn, cred, "/"); err != nil {
		t.Errorf("MNT while the groups come: %v", err)
	}
	do(t, c, nfs3.ProcAccess, &nfs3.AccessArgs{File: w.file}, new(nfs3.AccessRes))
	if by := fs.take(); len(by) != 1 || !slices.Equal(by[0].GIDs, []uint32{1000, 5}) {
		t.Errorf("afterwards: %+v", by)
	}
}

// TestMountOfNobody: MNT does not go on looking up groups for a client that has gone.
func TestMountOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lookups atomic.Int32
		conn := pipe.New(serve(t, nfsserver.Config{
			Exports: []nfsserver.Export{export(newWorld(t).fs)}, Blocking: true,
			Logger: slog.New(slog.DiscardHandler),
			Groups: func(net.Addr, uint32) ([]uint32, error) {
				lookups.Add(1)
				return nil, errors.New("down")
			},
		}), pipe.Inline)
		cred, err := oncrpc.AuthSys(oncrpc.SysCred{UID: 1000})
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second+time.Millisecond, func() { conn.Close() })
		if _, err = nfsclient.Mount(t.Context(), conn, cred, "/"); err == nil {
			t.Error("MNT has succeeded")
		}
		time.Sleep(time.Minute)
		if n := lookups.Load(); n != 11 {
			t.Errorf("%d look-ups, want 11", n)
		}
	})
}
