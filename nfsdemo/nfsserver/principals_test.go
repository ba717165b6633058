package nfsserver_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestPrincipals: the user that the file system sees for a principal.
func TestPrincipals(t *testing.T) {
	many := make([]uint32, 100)
	for i := range many {
		many[i] = uint32(2000 + i)
	}
	known := map[string]*vfs.Cred{
		"alice@TEST":       {UID: 1000, GID: 1001, GIDs: []uint32{5, 6}},
		"bob@TEST":         {UID: 1001, GID: 1001, GIDs: many},
		"root@TEST":        {GIDs: []uint32{0, 7}},
		"wheel@TEST":       {UID: 1002, GIDs: []uint32{0, 7}},
		"nobody@TEST":      {UID: 1<<32 - 1, GID: 1<<32 - 1},
		"host/mapped@TEST": {UID: 9, GID: 9},
	}
	user := func(_ context.Context, _ net.Addr, principal string) (*vfs.Cred, error) {
		return known[principal], nil
	}
	anon := vfs.Cred{UID: 65534, GID: 65534}
	rule := func(s nfsserver.Squash) nfsserver.Rule { return nfsserver.Rule{Squash: s} }
	const squashRoot, squashNone, squashAll = nfsserver.SquashRoot, nfsserver.SquashNone,
		nfsserver.SquashAll
	other := rule(squashNone)
	other.Anon = &vfs.Cred{UID: 3, GID: 4, GIDs: []uint32{5}}
	for _, tt := range []struct {
		name, principal string
		rule            nfsserver.Rule
		want            vfs.Cred
	}{
		{"a user", "alice@TEST", rule(squashRoot), *known["alice@TEST"]},
		{"one with many groups", "bob@TEST", rule(squashRoot), *known["bob@TEST"]},
		{"root is squashed", "root@TEST", rule(squashRoot),
			vfs.Cred{UID: 65534, GID: 65534, GIDs: []uint32{65534, 7}}},
		{"root is not", "root@TEST", rule(squashNone), *known["root@TEST"]},
		{"root's groups", "wheel@TEST", rule(squashRoot),
			vfs.Cred{UID: 1002, GID: 65534, GIDs: []uint32{65534, 7}}},
		{"all are squashed", "alice@TEST", rule(squashAll), anon},
		{"nobody's number", "nobody@TEST", rule(squashNone), anon},
		{"a machine", "nfs/host@TEST", rule(squashNone), anon},
		{"a machine that is mapped", "host/mapped@TEST", rule(squashRoot), *known["host/mapped@TEST"]},
		{"who is not known", "mallory@TEST", other, *other.Anon},
		{"where nobody is known", "", rule(squashNone), anon},
	} {
		fs := &accesses{FS: newWorld(t).fs}
		tt.rule.Flavors = []mount3.Flavor{krb5, krb5i, krb5p}
		user, principal := user, tt.principal
		if principal == "" {
			user, principal = nil, "alice@TEST"
		}
		r := newRealm(t, nfsserver.Config{User: user,
			Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{tt.rule}}},
			// For AUTH_SYS only.
			Groups: func(net.Addr, uint32) ([]uint32, error) { return []uint32{99}, nil }})
		for _, f := range tt.rule.Flavors {
			got := fs.accessAs(t, r, r.flavor(f, principal))
			if got.UID != tt.want.UID || got.GID != tt.want.GID ||
				!slices.Equal(got.GIDs, tt.want.GIDs) {
				t.Errorf("%s, %v: %+v, want %+v", tt.name, f, got, tt.want)
			}
		}
	}
	if len(known["root@TEST"].GIDs) != 2 || known["root@TEST"].GIDs[0] != 0 {
		t.Error("what User returns was changed")
	}
}

// TestPrincipalNotKnownNow: a caller whose user cannot be looked up at the moment is asked to try
// again. For MNT the server tries again. Callers with other flavours are not affected.
func TestPrincipalNotKnownNow(t *testing.T) {
	w := newWorld(t)
	x := export(w.fs)
	x.Rules[0].Flavors = []mount3.Flavor{krb5, sys}
	down := errors.New("down")
	failures := len(operations) + 1
	var log lines
	r := newRealm(t, nfsserver.Config{Exports: []nfsserver.Export{x}, Logger: log.logger(),
		User: func(context.Context, net.Addr, string) (*vfs.Cred, error) {
			if failures--; failures < 0 {
				return nil, nil
			}
			return nil, down
		}})
	flavor := r.flavor(krb5, "alice@TEST")
	for i := range operations {
		op := &operations[i]
		got := do(t, r.nfsAs(flavor), op.proc, op.args(w.root, w.root, "name"), op.res())
		if got != nfs3.ErrJukebox {
			t.Errorf("%v: %v, want %v", op, got, nfs3.ErrJukebox)
		}
	}
	if _, err := nfsclient.Mount(t.Context(), r.conn, flavor, "/"); err != nil {
		t.Errorf("MNT: %v", err)
	}
	peer := r.conn.LocalAddr().String()
	log.want(t, `level=ERROR msg="nfs: cannot look up the user of a principal"`+
		` principal=alice@TEST err=down`,
		`level=INFO msg="nfs: mounted" peer=`+peer+` path=/ uid=65534 principal=alice@TEST`)
	attrOf(t, r.nfsAs(r.flavor(sys, "")), w.file)
}

// TestHostilePrincipals: a principal with unusual characters is no user.
func TestHostilePrincipals(t *testing.T) {
	fs := &accesses{FS: newWorld(t).fs}
	x := export(fs)
	x.Rules[0].Flavors = []mount3.Flavor{krb5}
	p, err := users.NewPrincipals(users.Config{
		Realms: []string{"TEST"}, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	r := newRealm(t, nfsserver.Config{Exports: []nfsserver.Export{x}, User: p.User})
	for _, principal := range []string{
		"", "root", "root@", "@TEST", "root@@TEST", "root@TEST@TEST", "root@test", "root\x00@TEST",
		"root\n@TEST", "root@TEST\x00", "root@TEST\n", "root/host@TEST", "root:0@TEST", `root\@TEST`,
		"\xff\xfe@TEST", strings.Repeat("r", 60000) + "@TEST", "root@" + strings.Repeat("TEST", 10000),
	} {
		flavor := r.flavor(krb5, principal)
		if c := fs.accessAs(t, r, flavor); c.UID != nfsserver.Nobody || c.GID != nfsserver.Nobody ||
			len(c.GIDs) > 0 {
			t.Errorf("%.40q: %+v", principal, c)
		}
		if _, err := nfsclient.Mount(t.Context(), r.conn, flavor, "/"); err != nil {
			t.Errorf("%.40q: %v", principal, err)
		}
	}
	if c := fs.accessAs(t, r, r.flavor(krb5, "root@TEST")); c.UID != 0 {
		t.Errorf("root himself: %+v", c)
	}
}

// accessAs calls ACCESS, and returns the user that the file system saw.
func (a *accesses) accessAs(t *testing.T, r *realm, f oncrpc.ClientFlavor) vfs.Cred {
	t.Helper()
	do(t, r.nfsAs(f), nfs3.ProcAccess, &nfs3.AccessArgs{File: a.Root()}, new(nfs3.AccessRes))
	by := a.take()
	if len(by) != 1 {
		t.Fatalf("%d calls came to the file system", len(by))
	}
	return by[0]
}
