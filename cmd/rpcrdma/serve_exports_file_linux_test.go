package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// exportsFile is a file of --exports, and its server.
type exportsFile struct {
	*serveCommand
	path string
}

func serveFile(t *testing.T, text string, args ...string) *exportsFile {
	t.Helper()
	f := &exportsFile{path: filepath.Join(t.TempDir(), "exports")}
	f.write(t, text)
	f.serveCommand = startServe(t, append([]string{"--exports", f.path}, args...)...)
	return f
}

func (f *exportsFile) write(t *testing.T, text string) {
	t.Helper()
	if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// reload writes a text to the file, sends SIGHUP, and waits for a log message.
func (f *exportsFile) reload(t *testing.T, text, logged string) {
	t.Helper()
	f.write(t, text)
	before := strings.Count(f.stderr.String(), logged)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	f.await(t, logged, before+1)
}

// await waits until the log has a text so many times.
func (f *exportsFile) await(t *testing.T, logged string, times int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); strings.Count(f.stderr.String(), logged) < times; {
		if time.Now().After(deadline) {
			t.Fatalf("not logged: %q\n%v", logged, f.stderr)
		}
		time.Sleep(time.Millisecond)
	}
}

const reloaded = "exports reloaded"

// TestServeReloadToKerberos: if the file asks for Kerberos, and the server has no keytab, nothing
// changes, and the log says what to do.
func TestServeReloadToKerberos(t *testing.T) {
	s := serveFile(t, "/m *(rw,insecure,memory)\n")
	s.reload(t, "/m *(rw,insecure,memory,sec=krb5)\n", "restart serve, so that it reads the keytab (--keytab)")
	mountAs(t, dialTCP(t, s.tcp), 7, "/m").put(t, "file", []byte("data"))
}

// TestServeReloadUsers: a reload also reads the file of --map-users. If that has an error, nothing
// changes.
func TestServeReloadUsers(t *testing.T) {
	kt := keytabOf(t, "nfs/localhost")
	users := filepath.Join(t.TempDir(), "users")
	write := func(text string) {
		if err := os.WriteFile(users, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("carol@OTHER.EXAMPLE 1000:100\n")
	const file = "/m *(rw,insecure,memory,sec=krb5)\n"
	s := serveFile(t, file, "--keytab", kt, "--map-users", users)
	write("carol@OTHER.EXAMPLE 1000\n")
	s.reload(t, file+"/n *(memory)\n", "--map-users "+users+": line 1: user 1000 has no group: write 1000:GID")
	if _, err := user(t, dialTCP(t, s.tcp), 0).Mount(t.Context(), "/n"); !errors.Is(err, mount3.ErrNoEnt) {
		t.Errorf("mount of what comes with a wrong map: %v", err)
	}
	write("carol@OTHER.EXAMPLE 1000:101\n")
	s.reload(t, file, reloaded)
}

// TestServeExportsFile: exports come, go and change under a client that has mounted them when the
// server reads the file again. A file with an error changes nothing.
func TestServeExportsFile(t *testing.T) {
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
	for _, d := range []string{one, two} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	s := serveFile(t, fmt.Sprintf("%s 127.0.0.1(rw,no_root_squash,insecure) *(ro)\n/m *(rw,insecure,memory)\n", one),
		"--memory", "/flag", "--state", t.TempDir())
	// For the first, some clients need a port below 1024.
	if !strings.Contains(s.greeting, "nolock 127.0.0.1:"+one) || !strings.Contains(s.greeting, "noresvport 127.0.0.1:/m ") {
		t.Errorf("greeting: %s", s.greeting)
	}
	if !strings.Contains(s.greeting, "serving "+one) || !strings.Contains(s.greeting, "serving /m (memory") {
		t.Errorf("greeting: %s", s.greeting)
	}
	conn := dialTCP(t, s.tcp)
	m := mountAs(t, conn, 0, one)
	h := m.put(t, "file", []byte("data"))
	mem := mountAs(t, conn, 0, "/m")
	inMemory := mem.put(t, "file", []byte("in memory"))
	mountAs(t, conn, 0, "/flag")

	s.reload(t, fmt.Sprintf("%s 127.0.0.0/8(ro,insecure)\n%s *(rw,insecure)\n/m *(rw,insecure,memory)\n", one, two), reloaded)
	if got := string(m.get(t, h)); got != "data" {
		t.Errorf("after the change: %q", got)
	}
	if err := m.Remove(t.Context(), m.root, "file"); !errors.Is(err, nfs3.ErrROFS) {
		t.Errorf("remove, read-only now: %v", err)
	}
	mountAs(t, conn, 0, two)
	if got := string(mem.get(t, inMemory)); got != "in memory" {
		t.Errorf("the file system in memory: %q", got)
	}

	s.reload(t, one+" *(rw,insecure)\n"+two+" *(fast)\n", "the exports have not changed: the file cannot be used")
	if !strings.Contains(s.stderr.String(), "line 2: *(fast): option fast: it is not known") {
		t.Errorf("logged: %v", s.stderr)
	}
	s.reload(t, dir+"/missing/x *(rw,insecure)\n"+s.path+" *\n", "only directories can be exported")
	if err := m.Remove(t.Context(), m.root, "file"); !errors.Is(err, nfs3.ErrROFS) {
		t.Errorf("remove, still read-only: %v", err)
	}

	s.reload(t, two+" *(rw,insecure)\n", reloaded)
	if _, err := m.GetAttr(t.Context(), h); !errors.Is(err, nfs3.ErrStale) {
		t.Errorf("a file that is exported no more: %v", err)
	}
	if _, err := user(t, conn, 0).Mount(t.Context(), one); !errors.Is(err, mount3.ErrNoEnt) {
		t.Errorf("mount of it: %v", err)
	}
	s.reload(t, one+" *(rw,insecure,no_root_squash)\n", reloaded)
	if got := string(m.get(t, h)); got != "data" {
		t.Errorf("a file that is exported again: %q", got)
	}
	if code := s.stop(); code != cli.ExitOK {
		t.Errorf("exit %d: %v", code, s.stderr)
	}
}

// TestServeMadeAgain: a directory that is removed and made again is served again, and so is one
// that is made later.
func TestServeMadeAgain(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "export")
	later := filepath.Join(t.TempDir(), "later")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	s := serveFile(t, dir+" *(rw,insecure)\n"+later+" *(rw,insecure)\n", "--state", t.TempDir())
	conn := dialTCP(t, s.tcp)
	old := mountAs(t, conn, 1000, dir)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := old.GetAttr(t.Context(), old.root); !errors.Is(err, nfs3.ErrStale) {
		t.Errorf("removed: %v", err)
	}
	s.await(t, "an export has gone away", 1)
	for _, d := range []string{dir, later} {
		if err := os.Mkdir(d, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	s.await(t, "an export is new", 2)
	for _, d := range []string{dir, later} {
		m := mountAs(t, conn, 1000, d)
		if got := string(m.get(t, m.put(t, "file", []byte("new")))); got != "new" {
			t.Errorf("%q", got)
		}
	}
	if _, err := old.GetAttr(t.Context(), old.root); !errors.Is(err, nfs3.ErrStale) {
		t.Errorf("the directory that was removed: %v", err)
	}
}

// TestServeMountPoint: an export with mp is served when something is mounted there.
func TestServeMountPoint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := serveFile(t, dir+" *(rw,insecure,mp)\n")
	for _, want := range []string{", once it exists)\n", "nolock,noresvport 127.0.0.1:" + dir} {
		if !strings.Contains(s.greeting, want) {
			t.Errorf("greeting: %s, want %q", s.greeting, want)
		}
	}
	conn := dialTCP(t, s.tcp)
	refused := func() error {
		_, err := user(t, conn, 0).Mount(t.Context(), dir)
		return err
	}
	if err := refused(); !errors.Is(err, mount3.ErrNoEnt) {
		t.Errorf("nothing is mounted: %v", err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err == unix.EPERM {
		t.Skip("needs the right to mount")
	} else if err != nil {
		t.Fatal(err)
	}
	s.await(t, "an export is new", 1)
	if err := refused(); err != nil {
		t.Errorf("mounted: %v", err)
	}
	if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
		t.Fatal(err)
	}
	s.await(t, "an export is taken away", 1)
	if err := refused(); !errors.Is(err, mount3.ErrNoEnt) {
		t.Errorf("nothing is mounted any more: %v", err)
	}
}

// TestServeCrossMnt: clients enter a file system that is mounted below an export, and lose it when
// it is unmounted.
func TestServeCrossMnt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inner := filepath.Join(dir, "sub", "with space")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	s := serveFile(t, dir+" *(rw,insecure,no_root_squash,crossmnt)\n", "--state", t.TempDir())
	m := mountAs(t, dialTCP(t, s.tcp), 0, dir)
	mounted := func() {
		t.Helper()
		if err := unix.Mount("tmpfs", inner, "tmpfs", 0, "size=1m"); err == unix.EPERM {
			t.Skip("needs the right to mount")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	outer := nfsfs.New(m.Client, m.root, nfsfs.Config{})
	id := func(name string) uint64 {
		t.Helper()
		info, err := outer.Stat(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Attr().FSID
	}
	if id("sub") != id("sub/with space") {
		t.Error("nothing is mounted, and there is another file system")
	}
	for i := range 2 {
		mounted()
		s.await(t, "an export is new", i+1)
		if id("sub") == id("sub/with space") || id("sub/with space/..") != id("sub") {
			t.Error("what is mounted is no file system of its own")
		}
		if err := os.WriteFile(filepath.Join(inner, "file"), []byte("inside"), 0o644); err != nil {
			t.Fatal(err)
		}
		if b, err := fs.ReadFile(outer.IOFS(t.Context()), "sub/with space/file"); string(b) != "inside" {
			t.Errorf("%q, %v", b, err)
		}
		if err := unix.Unmount(inner, unix.MNT_DETACH); err != nil {
			t.Fatal(err)
		}
		s.await(t, "an export is taken away", i+1)
		if id("sub") != id("sub/with space") {
			t.Error("what was mounted is there still")
		}
	}
}

// TestServeCheck: --check prints what would be exported, and what is wrong.
func TestServeCheck(t *testing.T) {
	const needInsecure = "    clients of Linux over RDMA, and all clients over RoCE and SCTP, " +
		"need the option insecure\n"
	dir := t.TempDir()
	file := filepath.Join(dir, "exports")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(dir + " 192.0.2.0/24(rw,no_root_squash) *(ro,insecure)\n" + dir + "/later *(insecure)\n")
	code, out, errs := execute(t, "serve", "--check", "--exports", file)
	for _, want := range []string{
		dir + " (directory " + dir + ", to be mounted again after a restart)\n" +
			"    for 192.0.2.0/24: read-write, no squashing, from ports below 1024\n" +
			"    for everybody: read-only, root squashed to 65534:65534\n" + needInsecure,
		dir + "/later (", "    does not exist yet: it is exported when it does\n",
	} {
		if code != cli.ExitOK || !strings.Contains(strings.ReplaceAll(out, ", files belong to user 1000, who runs serve", ""), want) {
			t.Errorf("exit %d, %s%swant %s", code, out, errs, want)
		}
	}
	if n := strings.Count(out, needInsecure); n != 1 {
		t.Errorf("%d exports need insecure, want 1:\n%s", n, out)
	}
	code, out, errs = execute(t, "serve", "--check", "--exports", file, "--allow", "192.0.2.0/24")
	if want := "    for everybody that --allow names: read-only"; !strings.Contains(out, want) {
		t.Errorf("exit %d, %s%swant %s", code, out, errs, want)
	}
	write("/srv *(sec=krb4)\n")
	for _, args := range [][]string{{"--check"}, {"--listen", "127.0.0.1:0", "--mount", "none"}} {
		code, _, errs = execute(t, slices.Concat([]string{"serve", "--exports", file}, args)...)
		if code != cli.ExitFailed || !strings.Contains(errs, file+": line 1: *(sec=krb4): option sec=krb4: \"krb4\" is no flavour") {
			t.Errorf("%v: exit %d, %s", args, code, errs)
		}
	}
	code, _, errs = execute(t, "serve", "--check", "--exports", file+"x")
	if code != cli.ExitFailed || !strings.Contains(errs, fs.ErrNotExist.Error()) && !strings.Contains(errs, "no such file") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

// TestServeExportsWarnings: --check and the log, at the start and when the file is read again, warn
// of options that are for everybody because of a blank, and of a client that never counts.
func TestServeExportsWarnings(t *testing.T) {
	const opens = "/m 127.0.0.1(memory) \\\n (rw,memory)\n"
	s := serveFile(t, opens)
	const logged = "may not mean what it says"
	const apart = `\"127.0.0.1(memory) (rw,memory)\": because of the blank, `
	if got := s.stderr.String(); strings.Count(got, logged) != 1 || !strings.Contains(got, apart) ||
		!strings.Contains(got, "line=2 export=/m ") {
		t.Errorf("logged at the start: %s", got)
	}
	const twice = "/m *(rw,memory) *(ro,memory)\n"
	s.reload(t, twice, reloaded)
	if got := s.stderr.String(); strings.Count(got, logged) != 2 ||
		!strings.Contains(got, `\"*(ro,memory)\" never counts: \"*(rw,memory)\" in line 1 comes first`) {
		t.Errorf("logged when the file was read again: %s", got)
	}
	for file, want := range map[string]string{
		opens: "/m (memory, 4GiB)\n" +
			"    for 127.0.0.1/32: read-only, root squashed to 65534:65534, from ports below 1024\n" +
			"    for everybody: read-write, root squashed to 65534:65534, from ports below 1024\n" +
			`    warning: line 2: "127.0.0.1(memory) (rw,memory)": because of the blank, `,
		twice: `    warning: line 1: "*(ro,memory)" never counts: "*(rw,memory)" in line 1 comes first, `,
	} {
		s.write(t, file)
		code, out, errs := execute(t, "serve", "--check", "--exports", s.path)
		if code != cli.ExitOK || errs != "" || !strings.Contains(out, want) {
			t.Errorf("exit %d, %s%swant %s", code, out, errs, want)
		}
	}
}
