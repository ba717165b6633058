package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// keytabOf makes a keytab with a key of a principal of EXAMPLE.ORG. It hides the tickets of the
// user who runs the test.
func keytabOf(t *testing.T, principal string) string {
	t.Helper()
	dir := t.TempDir()
	for name, value := range map[string]string{
		"KRB5CCNAME": filepath.Join(dir, "no tickets"), "KRB5_CLIENT_KTNAME": "", "KRB5_KTNAME": filepath.Join(dir, "no keytab"),
		"KRB5_CONFIG": filepath.Join(dir, "krb5.conf"),
	} {
		t.Setenv(name, value)
	}
	conf := filepath.Join(dir, "krb5.conf")
	if err := os.WriteFile(conf, []byte("[libdefaults]\ndefault_realm = EXAMPLE.ORG\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "keytab")
	if err := os.WriteFile(path, encodeKeytab(principal, "EXAMPLE.ORG"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// encodeKeytab is a keytab with one key, of aes256-cts-hmac-sha1-96, in MIT's format, version 2.
func encodeKeytab(principal, realm string) []byte {
	parts := strings.Split(principal, "/")
	e := binary.BigEndian.AppendUint16(nil, uint16(len(parts)))
	for _, s := range append([]string{realm}, parts...) {
		e = append(binary.BigEndian.AppendUint16(e, uint16(len(s))), s...)
	}
	e = binary.BigEndian.AppendUint32(e, 1)  // the kind of name
	e = binary.BigEndian.AppendUint32(e, 1)  // when
	e = append(e, 1)                         // the version of the key
	e = binary.BigEndian.AppendUint16(e, 18) // its encryption type
	e = binary.BigEndian.AppendUint16(e, 32) // its length
	e = append(e, bytes.Repeat([]byte{7}, 32)...)
	b := binary.BigEndian.AppendUint32([]byte{5, 2}, uint32(len(e)))
	return append(b, e...)
}

// TestServeKerberos: the messages of a server with a keytab, and of commands without a ticket.
func TestServeKerberos(t *testing.T) {
	kt := keytabOf(t, "nfs/localhost")
	s := startServe(t, "--memory", "/proved", "--sec", "krb5p:krb5", "--keytab", kt, "--conf", "gss")
	for _, want := range []string{
		"serving /proved (memory, 4GiB, read-write, root squashed to 65534:65534, sec=krb5p:krb5)\n",
		"Kerberos: clients need tickets for nfs/localhost@EXAMPLE.ORG\n",
		"to mount it from Linux:\n    not /proved: with Kerberos it needs TCP port 2049, too\n",
		"nolock,sec=krb5p localhost:/proved /mnt\n",
	} {
		if !strings.Contains(s.greeting, want) {
			t.Errorf("no %q in\n%s", want, s.greeting)
		}
	}
	if log := s.stderr.String(); !strings.Contains(log, "Linux cannot mount over RDMA with Kerberos") {
		t.Errorf("there is no warning: %s", log)
	}
	byName := func(addr string) string { return strings.Replace(addr, "127.0.0.1", "localhost", 1) }
	for _, tt := range []struct{ args, want string }{
		{"ls rdma://" + byName(s.rdma) + "/proved", "/proved is for callers with sec=krb5p:krb5: there is no credential cache "},
		{"ls rdma://" + byName(s.rdma) + "/proved", ": run kinit\n"},
		{"ls tcp://" + s.tcp + "/proved", "sec=krb5p:krb5: Kerberos knows hosts by their names: write that of 127.0.0.1 in the URL\n"},
		{"ls tcp://" + s.tcp + "/proved?sec=sys", "/proved is for callers with sec=krb5p:krb5, but the URL says sec=sys: leave that out, or write one of these\n"},
		{"ls rdma://" + byName(s.rdma) + "/proved?sec=krb5p", ": run kinit\n"},
		{"ls --keytab " + kt + " --principal other rdma://" + byName(s.rdma) + "/proved", "has no key of other@EXAMPLE.ORG, but of nfs/localhost@EXAMPLE.ORG\n"},
		{"ls --keytab " + kt + "x rdma://" + byName(s.rdma) + "/proved", "sec=krb5p:krb5: keytab: stat " + kt + "x: no such file or directory\n"},
		{"ping --count 1 rdma://" + byName(s.rdma) + "?sec=krb5", ": run kinit\n"},
		{"ping --count 1 rdma://" + s.rdma + "?sec=krb5", "Kerberos knows hosts by their names"},
		{"conf rdma://" + s.rdma, "denies it to this caller: AUTH_TOOWEAK; --conf of rpcrdma serve says who may use it: try ?sec=krb5\n"},
		{"conf rdma://" + byName(s.rdma) + "?sec=krb5", ": run kinit\n"},
		{"ls --dialect draft rdma://" + byName(s.rdma) + "/proved?sec=krb5", ": run kinit\n"},
	} {
		code, _, stderr := execute(t, strings.Fields(tt.args)...)
		if code != cli.ExitFailed || !strings.Contains(stderr, tt.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %s, want %q", tt.args, code, stderr, tt.want)
		}
	}
	code, stdout, stderr := execute(t, "ls", "rdma://"+s.rdma+"/")
	if code != cli.ExitOK || stdout != "/proved\n" {
		t.Errorf("the list of exports: exit %d, %s%s", code, stdout, stderr)
	}
	r := probing{}.of(t, "rdma://"+byName(s.rdma)+"/proved")
	f := r.names(t, "mount", probe.Fail, probe.CauseNoTicket)
	if !strings.Contains(f.Do, "sec=krb5p:krb5: there is no credential cache") || !strings.HasSuffix(f.Do, "run kinit") {
		t.Errorf("to do: %s", f.Do)
	}
	probing{}.of(t, "rdma://"+s.rdma+"/proved").
		names(t, "mount", probe.Fail, probe.CauseHostByAddress)
	probing{}.of(t, "rdma://"+byName(s.rdma)+"/proved?sec=krb5").
		names(t, "call", probe.Fail, probe.CauseNoTicket)
	gss := false
	for _, f := range r.Findings {
		gss = gss || f.Values["gss"] == true
	}
	if !gss {
		t.Errorf("the server takes RPCSEC_GSS, which probe does not find:\n%s", r.lines())
	}
}

// TestServeExportsSec: --sec applies only to the lines of a file without sec=. --check shows it.
func TestServeExportsSec(t *testing.T) {
	kt := keytabOf(t, "nfs/localhost")
	const file = "/silent *(rw,insecure,memory)\n/said *(rw,insecure,memory,sec=sys)\n" +
		"/both *(memory,insecure,sec=krb5p:krb5i,rw,sec=sys,ro,all_squash,sec=krb5,rw)\n"
	path := filepath.Join(t.TempDir(), "exports")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"--exports", path, "--sec", "krb5p:krb5i", "--keytab", kt}
	code, stdout, stderr := execute(t, append([]string{"serve", "--check"}, args...)...)
	for _, want := range []string{
		"/silent (memory, 4GiB)\n" +
			"    for everybody: read-write, root squashed to 65534:65534, sec=krb5p:krb5i\n",
		"/said (memory, 4GiB)\n" +
			"    for everybody: read-write, root squashed to 65534:65534, sec=sys\n",
		"/both (memory, 4GiB)\n    for everybody: read-write, root squashed to 65534:65534 " +
			"(sys: read-only, all squashed to 65534:65534), sec=krb5p:krb5i:sys:krb5\n",
		"Kerberos: clients need tickets for nfs/localhost@EXAMPLE.ORG\n",
	} {
		if code != cli.ExitOK || !strings.Contains(stdout, want) {
			t.Errorf("--check: exit %d, %s%s, want %q", code, stdout, stderr, want)
		}
	}
	s := startServe(t, args...)
	conn := dialTCP(t, s.tcp)
	for name, want := range map[string]error{"/silent": nfs3.ErrAcces, "/said": nfs3.ErrNoEnt} {
		m := mountAs(t, conn, 7, name)
		if err := m.Remove(t.Context(), m.root, "missing"); !errors.Is(err, want) {
			t.Errorf("remove in %s with AUTH_SYS: %v, want %v", name, err, want)
		}
	}
}

// TestServeExportsReadOnly: flags for exports of the command line are allowed with a file if there
// is such an export.
func TestServeExportsReadOnly(t *testing.T) {
	for _, args := range []string{"--read-only=false", "--memory /m --read-only --squash all --anonuid 7"} {
		args = "serve --check --exports " + os.DevNull + " " + args
		if code, _, stderr := execute(t, strings.Fields(args)...); code != cli.ExitOK {
			t.Errorf("%s: exit %d, %s", args, code, stderr)
		}
	}
}

// TestMountWithoutKerberos: if Linux cannot make contexts for NFS over RDMA, the greeting mounts
// with AUTH_SYS over RDMA, if the export takes it.
func TestMountWithoutKerberos(t *testing.T) {
	kt := keytabOf(t, "nfs/localhost")
	s := startServe(t, "--memory", "/m", "--sec", "krb5i:sys", "--keytab", kt)
	for _, want := range []string{
		"noresvport,sec=sys localhost:/m /mnt\n", "nolock,sec=krb5i localhost:/m /mnt\n",
	} {
		if !strings.Contains(s.greeting, want) {
			t.Errorf("no %q in\n%s", want, s.greeting)
		}
	}
}

// TestCheckUsers: --check finds users of the map that this host does not have.
func TestCheckUsers(t *testing.T) {
	kt := keytabOf(t, "nfs/localhost")
	path := filepath.Join(t.TempDir(), "users")
	if err := os.WriteFile(path, []byte("a@B root\nb@B no-such-user\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := execute(t, "serve", "--check", "--memory", "/m", "--keytab", kt, "--map-users", path)
	if want := "--map-users " + path + ": line 2: b@B: no such user"; code != cli.ExitFailed || !strings.Contains(stderr, want) {
		t.Errorf("exit %d, %s, want %q", code, stderr, want)
	}
}

// TestServeUnusedKeytab: a server with a keytab whose exports do not ask for Kerberos says so.
func TestServeUnusedKeytab(t *testing.T) {
	kt := keytabOf(t, "nfs/localhost")
	code, stdout, _ := execute(t, "serve", "--check", "--memory", "/m", "--keytab", kt)
	want := "nfs/localhost@EXAMPLE.ORG; no export asks for them: use --sec or the option sec=\n"
	if code != cli.ExitOK || !strings.HasSuffix(stdout, want) {
		t.Errorf("exit %d, %s, want %q", code, stdout, want)
	}
}

// TestKerberosFallback: a permission error without a ticket says that calls do not use Kerberos,
// and why.
func TestKerberosFallback(t *testing.T) {
	kt := keytabOf(t, "nfs/localhost")
	s := startServe(t, "--memory", "/m", "--sec", "krb5p:krb5:sys", "--keytab", kt)
	byName := "rdma://" + strings.Replace(s.rdma, "127.0.0.1", "localhost", 1) + "/m"
	for _, args := range []string{"touch --uid 7 ", "chmod --uid 7 600 "} {
		if code, _, stderr := execute(t, strings.Fields(args+byName+"/x?sec=sys")...); code != cli.ExitOK {
			t.Fatalf("%s: exit %d, %s", args, code, stderr)
		}
	}
	const no = "permission denied to user 5001"
	for _, tt := range []struct{ url, want string }{
		{byName + "/x", no + "; calls have sec=sys, since for sec=krb5p there is no credential cache "},
		{"tcp://" + s.tcp + "/m/x", no + "; calls have sec=sys, since for sec=krb5p Kerberos knows hosts by their names: write that of 127.0.0.1 in the URL\n"},
		{byName + "/x?sec=sys", no + "\n"},
	} {
		code, _, stderr := execute(t, "cat", "--uid", "5001", tt.url)
		if code != cli.ExitFailed || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit %d, %s, want %q", tt.url, code, stderr, tt.want)
		}
	}
	found := ""
	for _, f := range (probing{}).of(t, byName).Findings {
		if f.Values["export"] == "/m" {
			found = f.Found
		}
	}
	if want := " with sec=krb5p:krb5:sys; calls have sec=sys, since for sec=krb5p there is no credential cache "; !strings.Contains(found, want) {
		t.Errorf("probe found %q, want ...%s...", found, want)
	}
}

// TestServeKeytab: a server does not start with a keytab without a key for NFS.
func TestServeKeytab(t *testing.T) {
	kt := keytabOf(t, "host/localhost")
	const ports = " --listen 127.0.0.1:0 --mount 127.0.0.1:0"
	for _, tt := range []struct{ args, want string }{
		{"--sec krb5 --keytab " + kt, "the keytab has keys of host/localhost@EXAMPLE.ORG, but clients ask for nfs/HOST; on the KDC"},
		{"--sec krb5 --principal nfs/localhost --keytab " + kt, "has no key of the principal wanted, but of host/localhost@EXAMPLE.ORG"},
		{"--sec krb5", "/m must prove who they are (sec=krb5 and the like), which needs a keytab with this host's keys: keytab: stat "},
		{"--map-users " + kt + "x --principal host/localhost --keytab " + kt, "--map-users " + kt + "x: open "},
		{"--map-users " + os.DevNull + " --realm A --realm B --check --principal host/localhost --keytab " + kt, ""},
		{"--check --sec krb5", "which needs a keytab"},
		{"--check --realm A", "--realm, which needs a keytab"},
		{"--check --map-users " + kt + "x", "--map-users, which needs a keytab"},
	} {
		code, _, stderr := execute(t, strings.Fields("serve --memory /m "+tt.args+ports)...)
		if (code == cli.ExitOK) != (tt.want == "") || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit %d, %s, want %q", tt.args, code, stderr, tt.want)
		}
	}
}

// TestNoKerberos: commands call a server without a keytab with AUTH_SYS. Other flavours are errors
// that say so.
func TestNoKerberos(t *testing.T) {
	kt := keytabOf(t, "nfs/localhost")
	s := startServe(t, "--memory", "/said", "--sec", "sys")
	byName := "tcp://" + strings.Replace(s.tcp, "127.0.0.1", "localhost", 1)
	for _, url := range []string{byName + "/said", byName + "/said?sec=sys"} {
		if code, _, stderr := execute(t, "ls", "--keytab", kt, url); code != cli.ExitOK {
			t.Errorf("%s: exit %d, %s", url, code, stderr)
		}
	}
	code, _, stderr := execute(t, "ls", "--keytab", kt, byName+"/said?sec=krb5")
	if want := "/said is for callers with sec=sys, but the URL says sec=krb5: leave that out, or write one of these\n"; code != cli.ExitFailed || !strings.Contains(stderr, want) {
		t.Errorf("exit %d, %s, want %q", code, stderr, want)
	}
	plain := startServe(t, "--memory", "/said") // which takes AUTH_NONE, too
	for _, url := range []string{plain.tcp, plain.rdma} {
		scheme := map[string]string{plain.tcp: "tcp://", plain.rdma: "rdma://"}[url]
		url = scheme + strings.Replace(url, "127.0.0.1", "localhost", 1) + "/said"
		if code, _, stderr := execute(t, "ls", "--keytab", kt, url); code != cli.ExitOK {
			t.Errorf("%s: exit %d, %s", url, code, stderr)
		}
		code, _, stderr := execute(t, "ls", "--keytab", kt, url+"?sec=krb5p")
		if want := "/said is for callers with sec=sys, but the URL says sec=krb5p: leave that out, or write one of these\n"; code != cli.ExitFailed || !strings.Contains(stderr, want) {
			t.Errorf("%s: exit %d, %s, want %q", url, code, stderr, want)
		}
	}
	r := probing{}.of(t, byName+"/said")
	for _, f := range r.Findings {
		if f.Values["gss"] == true || f.Step == "mount" && f.Values["export"] == "/said" && f.Values["taken"] != "sys" {
			t.Errorf("found %+v", f)
		}
	}
}
