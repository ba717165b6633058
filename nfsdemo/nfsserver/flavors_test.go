package nfsserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

const (
	none  = mount3.FlavorNone
	sys   = mount3.FlavorSys
	krb5  = mount3.FlavorKrb5
	krb5i = mount3.FlavorKrb5i
	krb5p = mount3.FlavorKrb5p
)

// TestFlavors calls every procedure with every flavour, under rules with all kinds of flavours.
// Calls with a flavour that the rule does not have are refused. Only GETATTR and FSINFO of the root
// also take AUTH_SYS and AUTH_NONE, if the rule has flavours that prove who calls.
func TestFlavors(t *testing.T) {
	for _, listed := range [][]mount3.Flavor{
		nil, {sys}, {none}, {krb5}, {krb5i}, {krb5p}, {krb5p, krb5}, {krb5i, sys}, {none, krb5},
		{sys, none}, {krb5p, krb5i, krb5, sys, none},
	} {
		w := newWorld(t)
		x := export(w.fs)
		x.Rules[0].Flavors = listed
		r := newRealm(t, nfsserver.Config{Exports: []nfsserver.Export{x}, User: alice})
		may, proves := map[mount3.Flavor]bool{}, false
		for _, f := range listed {
			may[f], proves = true, proves || f.Proves()
		}
		if listed == nil {
			may[sys], may[none] = true, true
		}
		refused := uint64(0)
		for _, f := range allFlavors {
			c := r.nfsAs(r.flavor(f, "alice@TEST"))
			if err := c.Call(t.Context(), uint32(nfs3.ProcNull), nil, nil); err != nil {
				t.Errorf("%v, NULL with %v: %v", listed, f, err)
			}
			for i, op := range operations {
				for kind, h := range map[string]nfs3.FH{"root": w.root, "dir": w.dir, "file": w.file} {
					finds := op.proc == nfs3.ProcGetAttr || op.proc == nfs3.ProcFSInfo
					passes := may[f] || proves && (f == sys || f == none) && finds && kind == "root"
					got := do(t, c, op.proc, op.args(h, w.root, fmt.Sprint("name", i)), op.res())
					if passes == (got == nfs3.ErrAcces) {
						t.Errorf("%v, %v of the %s with %v: %v", listed, &op, kind, f, got)
					}
					if !passes {
						refused++
					}
				}
			}
		}
		if got := r.nfs.Stats().Refused; got != refused {
			t.Errorf("%v: %d refused, want %d", listed, got, refused)
		}
	}
}

// TestFlavorsOfRule: only the flavours of the rule for this peer count, not those of other rules.
func TestFlavorsOfRule(t *testing.T) {
	w := newWorld(t)
	x := export(w.fs)
	x.Rules = []nfsserver.Rule{
		{Clients: prefixes("192.0.2.0/24"), Flavors: []mount3.Flavor{krb5}},
		{Clients: prefixes("127.0.0.0/8"), Flavors: []mount3.Flavor{none}},
		{Flavors: []mount3.Flavor{sys, krb5}},
	}
	r := newRealm(t, nfsserver.Config{Exports: []nfsserver.Export{x}, User: alice})
	for f, want := range map[mount3.Flavor]nfs3.Status{
		none: nfs3.OK, sys: nfs3.ErrAcces, krb5: nfs3.ErrAcces,
	} {
		c := r.nfsAs(r.flavor(f, "alice@TEST"))
		got := do(t, c, nfs3.ProcGetAttr, &nfs3.GetAttrArgs{File: w.root}, new(nfs3.GetAttrRes))
		if got != want {
			t.Errorf("%v: %v, want %v", f, got, want)
		}
	}
}

// TestFlavorsOfTwo: RENAME and LINK need the flavour in both exports, and LOOKUP in the export that
// it enters.
func TestFlavorsOfTwo(t *testing.T) {
	open, closed, below := newWorld(t), newWorld(t), newWorld(t)
	rules := func(f ...mount3.Flavor) []nfsserver.Rule { return []nfsserver.Rule{{Flavors: f}} }
	r := newRealm(t, nfsserver.Config{User: alice, Exports: []nfsserver.Export{
		{Path: "/open", FS: open.fs, Rules: rules(krb5, sys), CrossMnt: true},
		{Path: "/open/dir/inside", FS: below.fs, Rules: rules(krb5)},
		{Path: "/closed", FS: closed.fs, Rules: rules(krb5)},
	}})
	for f, want := range map[mount3.Flavor][2]nfs3.Status{
		sys:   {nfs3.ErrAcces, nfs3.ErrAcces},
		krb5:  {nfs3.ErrXDev, nfs3.OK},
		krb5i: {nfs3.ErrAcces, nfs3.ErrAcces},
	} {
		c := r.nfsAs(r.flavor(f, "alice@TEST"))
		for what, got := range map[string]nfs3.Status{
			"RENAME into it": do(t, c, nfs3.ProcRename, &nfs3.RenameArgs{From: at(open.root, "file"),
				To: at(closed.root, "new")}, new(nfs3.RenameRes)),
			"RENAME out of it": do(t, c, nfs3.ProcRename, &nfs3.RenameArgs{From: at(closed.root, "file"),
				To: at(open.root, "new")}, new(nfs3.RenameRes)),
			"LINK": do(t, c, nfs3.ProcLink, &nfs3.LinkArgs{File: open.file,
				Where: at(closed.root, "new")}, new(nfs3.LinkRes)),
		} {
			if got != want[0] {
				t.Errorf("%v: %s: %v, want %v", f, what, got, want[0])
			}
		}
		var res nfs3.LookupRes
		got := do(t, c, nfs3.ProcLookup, &nfs3.LookupArgs{What: at(open.dir, "inside")}, &res)
		if got != want[1] || got == nfs3.OK && res.File != below.root {
			t.Errorf("%v: LOOKUP across: %v, want %v", f, got, want[1])
		}
	}
}

// TestMountWithFlavors: MNT accepts any flavour, and returns those of the export in order. The rest
// of MOUNT accepts any flavour too.
func TestMountWithFlavors(t *testing.T) {
	w, other := newWorld(t), newWorld(t)
	r := newRealm(t, nfsserver.Config{User: alice, Exports: []nfsserver.Export{
		{Path: "/krb5", FS: w.fs,
			Rules: []nfsserver.Rule{{Flavors: []mount3.Flavor{krb5p, krb5i, krb5, sys}}}},
		{Path: "/default", FS: other.fs},
	}})
	want := func(root nfs3.FH, flavors string) []byte {
		return append(append([]byte{0, 0, 0, 0}, encode(&root)...), flavors...)
	}
	const list = "\x00\x00\x00\x04\x00\x05\xf3\x75\x00\x05\xf3\x74\x00\x05\xf3\x73\x00\x00\x00\x01"
	for _, f := range allFlavors {
		flavor := r.flavor(f, "alice@TEST")
		for path, want := range map[string][]byte{
			"/krb5":     want(w.root, list),
			"/krb5/dir": want(w.dir, list),
			"/default":  want(other.root, "\x00\x00\x00\x02\x00\x00\x00\x01\x00\x00\x00\x00"),
			"/none":     {0, 0, 0, 2},
		} {
			var res raw
			err := r.mountAs(flavor).Do(t.Context(), &oncrpc.Request{Procedure: uint32(mount3.ProcMnt),
				Args: &mount3.MntArgs{Path: path}, Reply: &res, MaxReply: mount3.MntResMax})
			if err != nil || !bytes.Equal(res, want) {
				t.Errorf("%v: MNT of %s: %v\ngot  %x\nwant %x", f, path, err, []byte(res), want)
			}
		}
		list, err := nfsclient.Exports(t.Context(), r.conn, flavor)
		diff := cmp.Diff([]mount3.Export{{Path: "/krb5"}, {Path: "/default"}}, list)
		if err != nil || diff != "" {
			t.Errorf("%v: EXPORT: %v\n%s", f, err, diff)
		}
		mounts, err := nfsclient.Dump(t.Context(), r.conn, flavor)
		if err != nil || len(mounts) != 3 {
			t.Errorf("%v: DUMP: %v, %v", f, mounts, err)
		}
		if err := nfsclient.UnmountAll(t.Context(), r.conn, flavor); err != nil {
			t.Errorf("%v: UMNTALL: %v", f, err)
		}
	}
}

// TestMountBelowWithFlavors: if the export does not have the caller's flavour, the caller is Anon
// on the way to a directory below the export, whatever user the call claims.
func TestMountBelowWithFlavors(t *testing.T) {
	w := newWorld(t)
	set := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o700}, UID: nfs3.Set32{Set: true, To: 1000}}
	private, _, err := w.fs.Mkdir(t.Context(), &vfs.Cred{}, w.root, "private", &set)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := w.fs.Mkdir(t.Context(), &vfs.Cred{UID: 1000}, private.File, "deep", &set); err != nil {
		t.Fatal(err)
	}
	x := export(w.fs)
	x.Rules[0].Flavors = []mount3.Flavor{krb5}
	r := newRealm(t, nfsserver.Config{Exports: []nfsserver.Export{x}, User: alice})
	for f, want := range map[mount3.Flavor]error{
		krb5: nil, krb5p: mount3.ErrAcces, sys: mount3.ErrAcces, none: mount3.ErrAcces,
	} {
		_, err := nfsclient.Mount(t.Context(), r.conn, r.flavor(f, "alice@TEST"), "/private/deep")
		if !errors.Is(err, want) {
			t.Errorf("%v: %v, want %v", f, err, want)
		}
	}
}

// TestPerFlavor: the flavour decides whether callers may change files, and as which user.
func TestPerFlavor(t *testing.T) {
	w := newWorld(t)
	fs := &accesses{FS: w.fs}
	x := export(fs)
	x.Rules = []nfsserver.Rule{{
		ReadOnly: true, Squash: nfsserver.SquashAll, Flavors: []mount3.Flavor{krb5p, krb5, sys, none},
		PerFlavor: map[mount3.Flavor]nfsserver.Access{
			krb5p: {Squash: nfsserver.SquashNone}, krb5: {ReadOnly: true, Squash: nfsserver.SquashRoot}},
	}}
	r := newRealm(t, nfsserver.Config{Exports: []nfsserver.Export{x}, User: alice})
	for _, tt := range []struct {
		f        mount3.Flavor
		readOnly bool
		uid      uint32
	}{{krb5p, false, 1000}, {krb5, true, 1000}, {sys, true, 65534}, {none, true, 65534}} {
		c := r.nfsAs(r.flavor(tt.f, "alice@TEST"))
		write, granted := nfs3.OK, nfs3.AccessModify
		if tt.readOnly {
			write, granted = nfs3.ErrROFS, 0
		}
		for what, got := range map[string]nfs3.Status{
			"WRITE": do(t, c, nfs3.ProcWrite, &nfs3.WriteArgs{File: w.file, Count: 1,
				Data: [][]byte{{1}}}, new(nfs3.WriteRes)),
			"RENAME": do(t, c, nfs3.ProcRename, &nfs3.RenameArgs{From: at(w.root, "file"),
				To: at(w.root, "file")}, new(nfs3.RenameRes)),
			"LINK": do(t, c, nfs3.ProcLink, &nfs3.LinkArgs{File: w.file,
				Where: at(w.root, fmt.Sprint("link of ", tt.f))}, new(nfs3.LinkRes)),
		} {
			if got != write {
				t.Errorf("%v: %s: %v, want %v", tt.f, what, got, write)
			}
		}
		var res nfs3.AccessRes
		do(t, c, nfs3.ProcAccess, &nfs3.AccessArgs{File: w.file, Want: nfs3.AccessModify}, &res)
		by := fs.take()
		if len(by) != 1 || by[0].UID != tt.uid || res.Granted != granted {
			t.Errorf("%v: as %+v, %v granted; want %d, %v", tt.f, by, res.Granted, tt.uid, granted)
		}
	}
}

// TestFlavorsConfig: invalid lists of flavours are errors, and so are flavours that no caller could
// use.
func TestFlavorsConfig(t *testing.T) {
	many := make([]mount3.Flavor, 65)
	for i := range many {
		many[i] = mount3.Flavor(1000 + i)
	}
	per := func(list []mount3.Flavor, f mount3.Flavor, s nfsserver.Squash) nfsserver.Rule {
		return nfsserver.Rule{Flavors: list,
			PerFlavor: map[mount3.Flavor]nfsserver.Access{f: {Squash: s}}}
	}
	kerberos := []mount3.Flavor{krb5}
	for name, tt := range map[string]struct {
		rule nfsserver.Rule
		ok   bool
	}{
		"all":                  {nfsserver.Rule{Flavors: allFlavors}, true},
		"64":                   {nfsserver.Rule{Flavors: many[:64]}, true},
		"65":                   {nfsserver.Rule{Flavors: many}, false},
		"one twice":            {nfsserver.Rule{Flavors: []mount3.Flavor{sys, krb5, sys}}, false},
		"options":              {per(kerberos, krb5, nfsserver.SquashAll), true},
		"options without it":   {per(kerberos, sys, 0), false},
		"options without any":  {per(nil, sys, 0), false},
		"no squash that it is": {per(kerberos, krb5, 3), false},
	} {
		x := export(newFS(t))
		x.Rules = []nfsserver.Rule{tt.rule}
		_, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{x}, GSS: true})
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}

	x := export(newFS(t))
	s, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{x}})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range allFlavors {
		x.Rules = []nfsserver.Rule{{Flavors: []mount3.Flavor{sys}}, {Flavors: []mount3.Flavor{f}}}
		_, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{x}})
		if errors.Is(err, nfsserver.ErrNoGSS) != f.Proves() {
			t.Errorf("New, %v: %v", f, err)
		}
		if err := s.SetExports([]nfsserver.Export{x}); errors.Is(err, nfsserver.ErrNoGSS) != f.Proves() {
			t.Errorf("SetExports, %v: %v", f, err)
		}
	}
}

// TestFlavorsChange: the server has its own copy of the flavours, until SetExports replaces it.
func TestFlavorsChange(t *testing.T) {
	w := newWorld(t)
	x := export(w.fs)
	x.Rules[0].Flavors = []mount3.Flavor{sys}
	x.Rules[0].PerFlavor = map[mount3.Flavor]nfsserver.Access{sys: {ReadOnly: true}}
	list := []nfsserver.Export{x}
	r := newRealm(t, nfsserver.Config{Exports: list, User: alice})
	c := map[mount3.Flavor]*oncrpc.Client{}
	for _, f := range []mount3.Flavor{sys, krb5} {
		c[f] = r.nfsAs(r.flavor(f, "alice@TEST"))
	}
	expect := func(what string, want map[mount3.Flavor]nfs3.Status) {
		t.Helper()
		for f, want := range want {
			got := do(t, c[f], nfs3.ProcWrite,
				&nfs3.WriteArgs{File: w.file, Count: 1, Data: [][]byte{{1}}}, new(nfs3.WriteRes))
			if got != want {
				t.Errorf("%s, %v: %v, want %v", what, f, got, want)
			}
		}
	}
	was := map[mount3.Flavor]nfs3.Status{sys: nfs3.ErrROFS, krb5: nfs3.ErrAcces}
	expect("as they are", was)
	list[0].Rules[0].Flavors[0] = krb5
	delete(list[0].Rules[0].PerFlavor, sys)
	expect("changed behind the server's back", was)
	if err := r.nfs.SetExports(list); err != nil {
		t.Fatal(err)
	}
	expect("changed", map[mount3.Flavor]nfs3.Status{sys: nfs3.ErrAcces, krb5: nfs3.OK})
}

// TestFlavorsLog: a caller refused for its flavour is logged once, with the flavours that the
// export accepts.
func TestFlavorsLog(t *testing.T) {
	w := newWorld(t)
	x := export(w.fs)
	x.Rules[0].Flavors = []mount3.Flavor{krb5p, krb5i}
	var log lines
	r := newRealm(t, nfsserver.Config{
		Exports: []nfsserver.Export{x}, User: alice, Logger: log.logger()})
	flavor := r.flavor(krb5, "al\nice@TEST")
	for range 3 {
		do(t, r.nfsAs(flavor), nfs3.ProcAccess, &nfs3.AccessArgs{File: w.root},
			new(nfs3.AccessRes))
	}
	peer := r.conn.LocalAddr().String()
	log.want(t, `level=WARN msg="nfs: the export is not for calls with this flavour (sec=)" peer=`+peer+
		` export=/ flavor=krb5 wanted=krb5p:krb5i principal="al\nice@TEST"`)
	if _, err := nfsclient.Mount(t.Context(), r.conn, flavor, "/"); err != nil {
		t.Fatal(err)
	}
	log.want(t, `level=INFO msg="nfs: mounted" peer=`+peer+` path=/ principal="al\nice@TEST"`)
}
