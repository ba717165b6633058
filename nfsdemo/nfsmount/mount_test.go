package nfsmount_test

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsmount"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestFind: finding the export for a path, on a real server.
func TestFind(t *testing.T) {
	a, b := newFS(t), newFS(t)
	conn := connect(t, nfsOf(t, nfsserver.Export{Path: "/data", FS: a}, nfsserver.Export{Path: "/data/sub", FS: b}))
	tests := []struct {
		path   string
		export string
		rest   string
	}{
		{"/data", "/data", ""},
		{"/data/", "/data", ""},
		{"/data/no/such", "/data", "no/such"},
		{"/data/sub", "/data/sub", ""},
		{"/data/sub/x", "/data/sub", "x"},
		{"/data/subway", "/data", "subway"},
		{"/data/" + strings.Repeat("long/", 400) + "x", "/data", strings.Repeat("long/", 400) + "x"},
	}
	for _, tt := range tests {
		root, err := nfsmount.Mount(t.Context(), conn, tt.path, nfsmount.Config{Flavor: sys(t)})
		want := a.Root()
		if tt.export == "/data/sub" {
			want = b.Root()
		}
		if err != nil || root.Handle != want || root.Export != tt.export || root.Rest != tt.rest {
			t.Errorf("%.20s: got %+v, %v, want %s and %s", tt.path, root, err, tt.export, tt.rest)
		}
	}
}

// TestUnmount: a mount is in the server's list until it is unmounted, over any connection.
func TestUnmount(t *testing.T) {
	programs := nfsOf(t, nfsserver.Export{Path: "/data", FS: newFS(t)})
	conn := connect(t, programs)
	mounts := func() (n int) {
		t.Helper()
		list, err := nfsclient.Dump(t.Context(), conn, sys(t))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	h := &host{ports: map[string]string{"700": serve(t, "127.0.0.1:0", programs)}}
	for _, port := range []int{0, 700} {
		cfg := nfsmount.Config{Host: "server", Port: port, Flavor: sys(t), Dial: h.dial}
		root, err := nfsmount.Mount(t.Context(), conn, "/data/x", cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := mounts(); got != 1 {
			t.Errorf("port %d: %d mounts, want 1", port, got)
		}
		if err := root.Unmount(t.Context()); err != nil {
			t.Error(err)
		}
		if got := mounts(); got != 0 {
			t.Errorf("port %d: %d mounts after Unmount, want none", port, got)
		}
	}
	// Mount and Unmount use one connection each.
	if diff := cmp.Diff([]string{"700", "700"}, h.asked); diff != "" {
		t.Errorf("ports (-want +got)\n%s", diff)
	}
}

// TestUnmountHangs: a server that does not answer does not block the caller.
func TestUnmountHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mounter{hides: true, results: map[string]mount3.MntRes{"/a": {Root: handle("a")}}}
		programs := m.programs()
		programs[0].Procedures[mount3.ProcUmnt].Handler = func(ctx context.Context, _ *oncrpc.Call) error {
			<-ctx.Done()
			return ctx.Err()
		}
		root, err := nfsmount.Mount(t.Context(), connect(t, programs), "/a", nfsmount.Config{Flavor: sys(t)})
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- root.Unmount(context.Background()) }()
		time.Sleep(time.Minute + time.Second)
		select {
		case err := <-done:
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("got %v, want %v", err, context.DeadlineExceeded)
			}
		default:
			t.Error("Unmount waits")
		}
	})
}

// TestServiceConnection: one connection is used for everything until Close.
func TestServiceConnection(t *testing.T) {
	m := &mounter{exports: []mount3.Export{{Path: "/a"}, {Path: "/b"}}, results: map[string]mount3.MntRes{
		"/a": {Root: handle("a")}, "/b": {Root: handle("b")},
	}}
	h := &host{ports: map[string]string{"700": serve(t, "127.0.0.1:0", m.programs())}}
	s, err := nfsmount.FindService(t.Context(), nil, nfsmount.Config{Host: "server", Port: 700, Flavor: sys(t), Dial: h.dial})
	if err != nil {
		t.Fatal(err)
	}
	var roots []nfsmount.Root
	for _, p := range []string{"/a/x", "/b"} {
		root, err := s.Mount(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		roots = append(roots, root)
	}
	if err := roots[0].Unmount(t.Context()); err != nil {
		t.Error(err)
	}
	s.Close()
	if err := roots[1].Unmount(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"EXPORT", "MNT /a", "EXPORT", "MNT /b", "UMNT /a", "UMNT /b"}, m.calls()); diff != "" {
		t.Errorf("calls (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"700", "700"}, h.asked); diff != "" {
		t.Errorf("ports (-want +got)\n%s", diff)
	}
}

// TestServiceTake: TakeTransport returns the connection to MOUNT, and Close then leaves it open. It
// does not return a connection that the caller has passed in.
func TestServiceTake(t *testing.T) {
	m := &mounter{exports: []mount3.Export{{Path: "/a"}}}
	h := &host{ports: map[string]string{"700": serve(t, "127.0.0.1:0", m.programs())}}
	s, err := nfsmount.FindService(t.Context(), nil, nfsmount.Config{Host: "server", Port: 700, Flavor: sys(t), Dial: h.dial})
	if err != nil {
		t.Fatal(err)
	}
	conn := s.TakeTransport()
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	s.Close()
	if got, err := nfsclient.Exports(t.Context(), conn, sys(t)); err != nil || len(got) != 1 {
		t.Errorf("over the connection: got %v, %v", got, err)
	}
	if len(h.asked) != 1 {
		t.Errorf("dialled %v", h.asked)
	}
	if s, err = nfsmount.FindService(t.Context(), conn, nfsmount.Config{}); err != nil {
		t.Fatal(err)
	}
	if got := s.TakeTransport(); got != nil {
		t.Errorf("got %v, which belongs to the caller already", got)
	}
}

// TestGuess: the paths that are tried if no list says which export holds a path.
func TestGuess(t *testing.T) {
	tests := []struct {
		name    string
		m       mounter
		path    string
		mounted string
		rest    string
		calls   []string
	}{
		{"no EXPORT", mounter{hides: true, results: map[string]mount3.MntRes{"/a/b": {Root: handle("h")}}}, "/a/b/", "/a/b", "",
			[]string{"EXPORT", "MNT /a/b"}},
		{"an empty list", mounter{results: map[string]mount3.MntRes{"/a": {Root: handle("h")}}}, "/a/b/c", "/a", "b/c",
			[]string{"EXPORT", "MNT /a/b/c", "MNT /a/b", "MNT /a"}},
		{"a list without it", mounter{exports: []mount3.Export{{Path: "/z"}}, results: map[string]mount3.MntRes{"/": {Root: handle("h")}}},
			"/a", "/", "a", []string{"EXPORT", "MNT /a", "MNT /"}},
		{"a refusal is not the last word", mounter{results: map[string]mount3.MntRes{
			"/a/b": {Status: mount3.ErrNotDir}, "/a": {Root: handle("h")},
		}}, "/a/b", "/a", "b", []string{"EXPORT", "MNT /a/b", "MNT /a"}},
		{"longer than can be asked for", mounter{results: map[string]mount3.MntRes{"/a": {Root: handle("h")}}},
			"/a/" + strings.Repeat("b", 1024), "/a", strings.Repeat("b", 1024), []string{"EXPORT", "MNT /a"}},
		{"nowhere", mounter{}, "/a/b", "", "", []string{"EXPORT", "MNT /a/b", "MNT /a", "MNT /"}},
	}
	for i := range tests {
		tt := &tests[i]
		root, err := nfsmount.Mount(t.Context(), connect(t, tt.m.programs()), tt.path, nfsmount.Config{Flavor: sys(t)})
		if root.Export != tt.mounted || root.Rest != tt.rest || (err == nil) != (tt.mounted != "") {
			t.Errorf("%s: got %+v, %v, want %q and %q", tt.name, root, err, tt.mounted, tt.rest)
		}
		if diff := cmp.Diff(tt.calls, tt.m.calls()); diff != "" {
			t.Errorf("%s (-want +got)\n%s", tt.name, diff)
		}
	}
	deep := &mounter{}
	if _, err := nfsmount.Mount(t.Context(), connect(t, deep.programs()), strings.Repeat("/a", 400), nfsmount.Config{Flavor: sys(t)}); err == nil {
		t.Error("a deep path: got no error")
	}
	if got := len(deep.calls()); got != 1+32 {
		t.Errorf("a deep path: %d calls, want 33", got)
	}
}

// TestRefused: the texts of errors, and the errors that they wrap.
func TestRefused(t *testing.T) {
	some := []mount3.Export{{Path: "/data", Groups: []string{"10.0.0.0/8"}}, {Path: "/pub", Groups: []string{"*"}}}
	status := func(path string, s mount3.Status) map[string]mount3.MntRes {
		return map[string]mount3.MntRes{path: {Status: s}}
	}
	var many []mount3.Export
	for _, c := range "abcdefghijk" {
		many = append(many, mount3.Export{Path: "/" + string(c), Groups: []string{"1", "2", "3", "4", "5", "6"}})
	}
	tests := []struct {
		name string
		m    mounter
		path string
		want string
		is   error
	}{
		{"not for us", mounter{exports: some, results: status("/data", mount3.ErrAcces)}, "/data/x",
			"mount refused: server answers MNT3ERR_ACCES for /data; it exports /data (to 10.0.0.0/8) and /pub (to everyone)", fs.ErrPermission},
		{"no export", mounter{exports: some}, "/database",
			"mount refused: no export of server holds /database (MNT3ERR_NOENT); it exports /data (to 10.0.0.0/8) and /pub (to everyone)",
			fs.ErrNotExist},
		{"no export, one that says ACCES", mounter{exports: some[:1], results: status("/database", mount3.ErrAcces)}, "/database",
			"mount refused: no export of server holds /database (MNT3ERR_ACCES); it exports /data (to 10.0.0.0/8)", fs.ErrPermission},
		{"exported and gone", mounter{exports: some[1:]}, "/pub",
			"mount refused: server answers MNT3ERR_NOENT for /pub; it exports /pub (to everyone)", fs.ErrNotExist},
		{"no exports", mounter{}, "/data", "mount refused: server answers MNT3ERR_NOENT for /data; it lists no exports", fs.ErrNotExist},
		{"no list", mounter{hides: true}, "/data",
			"mount refused: server answers MNT3ERR_NOENT for /data; it does not say what it exports: PROC_UNAVAIL", fs.ErrNotExist},
		{"not in the RFC", mounter{exports: some, results: status("/pub", 77)}, "/pub",
			"mount refused: server answers mountstat3 77 for /pub; it exports /data (to 10.0.0.0/8) and /pub (to everyone)", mount3.Status(77)},
		{"a long list", mounter{exports: many, results: status("/a", mount3.ErrAcces)}, "/a",
			"mount refused: server answers MNT3ERR_ACCES for /a; it exports /a (to 1, 2, 3, 4 and 2 more), /b (to 1, 2, 3, 4 and 2 more), " +
				"/c (to 1, 2, 3, 4 and 2 more), /d (to 1, 2, 3, 4 and 2 more), /e (to 1, 2, 3, 4 and 2 more), /f (to 1, 2, 3, 4 and 2 more), " +
				"/g (to 1, 2, 3, 4 and 2 more), /h (to 1, 2, 3, 4 and 2 more) and 3 more", fs.ErrPermission},
		{"names of anything", mounter{exports: []mount3.Export{{Path: "/\x1b[2J", Groups: []string{"a b", ""}}}}, "/\xff",
			`mount refused: no export of server holds "/\xff" (MNT3ERR_NOENT); it exports "/\x1b[2J" (to "a b" and "")`, fs.ErrNotExist},
		{"Kerberos", mounter{exports: some, results: map[string]mount3.MntRes{"/pub": {Root: handle("h"), Flavors: []mount3.Flavor{390003, 390005, 9}}}}, "/pub",
			"mount refused: server: /pub is for callers with Kerberos (krb5) or Kerberos (krb5p) or flavour 9 credentials, but the client has only AUTH_SYS ones", nil},
	}
	for i := range tests {
		tt := &tests[i]
		_, err := nfsmount.Mount(t.Context(), connect(t, tt.m.programs()), tt.path, nfsmount.Config{Host: "server", Flavor: sys(t)})
		var e *nfsmount.Error
		if !errors.As(err, &e) || e.Host != "server" || err.Error() != tt.want {
			t.Errorf("%s: got\n%v\nwant\n%s", tt.name, err, tt.want)
		}
		if tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v is not %v", tt.name, err, tt.is)
		}
		if flavor := (*nfsmount.FlavorError)(nil); tt.is == nil && !errors.As(err, &flavor) {
			t.Errorf("%s: %v is no FlavorError", tt.name, err)
		}
	}
}

// TestRefusedByServer: the real server exports only to other clients.
func TestRefusedByServer(t *testing.T) {
	programs := nfsOf(t, nfsserver.Export{Path: "/data", FS: newFS(t), Rules: []nfsserver.Rule{{Clients: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}}})
	_, err := nfsmount.Mount(t.Context(), connect(t, programs), "/data", nfsmount.Config{Host: "server", Flavor: sys(t)})
	if want := "; it exports /data (to 10.0.0.0/8)"; err == nil || !strings.HasSuffix(err.Error(), want) || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want fs.ErrPermission and %s", err, want)
	}
}

// TestUnprivileged: if a port of 1024 or above may be the reason, the error says so.
func TestUnprivileged(t *testing.T) {
	const advice = "; it may want calls from a port below 1024 (secure, the default of exports " +
		"files): add insecure to the export, or call as root, over TCP or iWARP"
	for s, want := range map[mount3.Status]bool{mount3.ErrAcces: true, mount3.ErrPerm: true, mount3.ErrNoEnt: false} {
		m := &mounter{exports: []mount3.Export{{Path: "/data"}}, results: map[string]mount3.MntRes{
			"/data": {Status: s}, "/other": {Status: s},
		}}
		h := &host{ports: map[string]string{"700": serve(t, "127.0.0.1:0", m.programs())}}
		cfg := nfsmount.Config{Host: "server", Port: 700, Flavor: sys(t), Dial: h.dial}
		_, err := nfsmount.Mount(t.Context(), nil, "/data", cfg)
		if err == nil || strings.HasSuffix(err.Error(), advice) != want {
			t.Errorf("%v: got %v, want the advice: %t", s, err, want)
		}
		if _, err = nfsmount.Mount(t.Context(), nil, "/other", cfg); err == nil || strings.HasSuffix(err.Error(), advice) {
			t.Errorf("%v for what is not exported: got %v, want no advice", s, err)
		}
	}
}

// TestFlavors: the flavours with which a mount can be used.
func TestFlavors(t *testing.T) {
	tests := []struct {
		name    string
		flavors []mount3.Flavor
		cred    oncrpc.ClientFlavor
		ok      bool
	}{
		{"not said", nil, sys(t), true},
		{"AUTH_SYS", []mount3.Flavor{1}, sys(t), true},
		{"AUTH_SYS among others", []mount3.Flavor{390003, 1}, sys(t), true},
		{"any, for they are not looked at", []mount3.Flavor{0}, sys(t), true},
		{"others", []mount3.Flavor{390003, 6}, sys(t), false},
		{"AUTH_SYS, which there is not", []mount3.Flavor{1}, oncrpc.AuthNone(), false},
		{"AUTH_NONE", []mount3.Flavor{1, 0}, oncrpc.AuthNone(), true},
	}
	for _, tt := range tests {
		m := &mounter{exports: []mount3.Export{{Path: "/"}}, results: map[string]mount3.MntRes{"/": {Root: handle("h"), Flavors: tt.flavors}}}
		root, err := nfsmount.Mount(t.Context(), connect(t, m.programs()), "/", nfsmount.Config{Flavor: tt.cred})
		if (err == nil) != tt.ok || tt.ok && root.Handle != handle("h") {
			t.Errorf("%s: got %+v, %v, want it to work: %t", tt.name, root, err, tt.ok)
		}
	}
}

// TestMountCancelled: if the context ends before an answer, the error does not say "refused".
func TestMountCancelled(t *testing.T) {
	m := &mounter{exports: []mount3.Export{{Path: "/data"}}, hangs: make(chan struct{})}
	h := &host{ports: map[string]string{"700": serve(t, "127.0.0.1:0", m.programs())}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-m.hangs
		cancel()
	}()
	_, err := nfsmount.Mount(ctx, nil, "/data", nfsmount.Config{Host: "server", Port: 700, Flavor: sys(t), Dial: h.dial})
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "refused") {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

// TestMountLost: after the connection has ended, no further paths are tried.
func TestMountLost(t *testing.T) {
	conn := connect(t, (&mounter{}).programs())
	s, err := nfsmount.FindService(t.Context(), conn, nfsmount.Config{Flavor: sys(t)})
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	_, err = s.Mount(t.Context(), "/a/b/c")
	var refused *nfsmount.Error
	if err == nil || errors.As(err, &refused) {
		t.Errorf("got %v, want the error of the connection", err)
	}
}
