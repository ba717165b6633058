package nfsserver_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
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
			Groups: func(uid uint32) []uint32 { return map[uint32][]uint32{1000: many, 0: {0, 5}}[uid] }})
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
