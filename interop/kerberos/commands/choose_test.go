//go:build interop

package commands

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
)

// TestChoice: calls use the flavour in the URL. Without one they use the first of the server's
// flavours for which there are credentials.
func TestChoice(t *testing.T) {
	r := newRealm(t)
	const self = "7" // claims to be user 7
	for _, tt := range []struct {
		sec  string // of the export
		user string // the user whose tickets exist
		url  string // what it says
		want int    // the owner of a new file
	}{
		{"sys:krb5", "alice", "", 7},
		{"sys:krb5", "alice", "krb5", aliceID},
		{"krb5:sys", "alice", "", aliceID},
		{"krb5p:sys", "", "", 7},
		{"krb5i", "alice", "", aliceID},
		{"krb5:sys", "alice", "sys", 7},
	} {
		t.Run(tt.sec+" "+tt.user+" "+tt.url, func(t *testing.T) {
			s := r.serve(t, tt.sec)
			file := s.url("rdma", "/export/file", tt.url)
			r.ok(t, tt.user, "touch", "--uid", self, file)
			got := r.owner(t, tt.user, s.url("tcp", "/export/file", tt.url))
			if got != tt.want {
				t.Errorf("the file belongs to user %d, want %d", got, tt.want)
			}
		})
	}
}

// TestRefused checks the errors and hints of commands that cannot make calls.
func TestRefused(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "krb5i:krb5p")
	file := func(sec string) string { return s.url("rdma", "/export", sec) }
	const list = "/export is for callers with sec=krb5i:krb5p"
	r.fails(t, "", list+": ", "ls", file(""))
	r.fails(t, "", "run kinit", "ls", file(""))
	r.fails(t, "", "run kinit", "ls", file("krb5p"))
	r.fails(t, "alice", list+", but the URL says sec=sys: leave that out, or write one of these", "ls", file("sys"))
	r.fails(t, "alice", list+", but the URL says sec=krb5: leave that out, or write one of these", "ls", file("krb5"))
	r.fails(t, "alice", "Kerberos knows hosts by their names: write that of 127.0.0.1 in the URL", "ls",
		strings.Replace(file("krb5i"), "localhost", "127.0.0.1", 1))
	r.fails(t, "alice", "Kerberos knows hosts by their names", "ls", strings.Replace(file(""), "localhost", "127.0.0.1", 1))

	plain := r.serve(t, "krb5")
	stranger, err := r.Keytab("host/localhost")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.ChangeKeys("nfs/localhost"); err != nil {
		t.Fatal(err)
	}
	r.fails(t, "bob", "no Kerberos context with the server: ", "ls", plain.url("tcp", "/export", "krb5"))
	got := r.run(t, "bob", "probe", plain.url("rdma", "/export", "krb5"))
	if !strings.Contains(got.stdout, "no Kerberos context with the server: ") || strings.Contains(got.stdout, "klist") {
		t.Errorf("probe says what to do, and then something else: exit %d, %s", got.code, got.stdout)
	}
	if !strings.Contains(plain.Log(), "ktadd") {
		t.Errorf("the server does not log what to do about a keytab that is too old:\n%s", plain.Log())
	}
	for _, tt := range []struct{ keytab, want string }{
		{filepath.Join(r.Dir, "nothing"), "ktadd -k FILE nfs/"},
		{stranger, "the keytab has keys of host/localhost@" + r.Realm + ", but clients ask for nfs/HOST"},
	} {
		r.fails(t, "", tt.want, "serve", "--memory", "/m", "--sec", "krb5", "--keytab", tt.keytab,
			"--listen", "127.0.0.1:0", "--mount", "127.0.0.1:0")
	}
}

// TestNoGSS checks the errors for a server without RPCSEC_GSS.
func TestNoGSS(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "sys")
	r.fails(t, "alice", "is for callers with sec=sys, but the URL says sec=krb5", "ls", s.url("rdma", "/export", "krb5"))
	r.fails(t, "alice", "", "ping", "--count", "1", "tcp://localhost:1?sec=krb5")
}

// TestExpired: the error of a command says that its tickets have expired.
func TestExpired(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "krb5")
	cache, err := r.Kinit("alice", "secret", "-l", "1s")
	if err != nil {
		t.Fatal(err)
	}
	r.caches["brief"] = cache
	for deadline := time.Now().Add(time.Minute); ; {
		got := r.run(t, "brief", "ls", s.url("rdma", "/export", ""))
		if got.code == 1 && strings.Contains(got.stderr, "expired") && strings.Contains(got.stderr, "run kinit") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("exit %d, %s%s", got.code, got.stdout, got.stderr)
		}
	}
	got := r.run(t, "brief", "probe", "--json", s.url("rdma", "/export", ""))
	if !strings.Contains(got.stdout, `"cause": "ticket-expired"`) {
		t.Errorf("probe: exit %d, %s", got.code, got.stdout)
	}
}

// TestSkew: the error of a command says that the clocks of KDC and server differ.
func TestSkew(t *testing.T) {
	r := newRealmOf(t, testkdc.Config{ClockShift: 20 * time.Minute})
	s := r.serve(t, "krb5")
	const what = " ahead of ours at the last login\n"
	r.fails(t, "alice", what, "ls", s.url("rdma", "/export", ""))
	r.fails(t, "alice", what, "ls", s.url("tcp", "/export", "krb5"))
}

// TestClientKeytab: a command gets its tickets with a keytab.
func TestClientKeytab(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "krb5p")
	if err := r.Add("robot", testkdc.Principal{}); err != nil {
		t.Fatal(err)
	}
	keytab, err := r.Keytab("robot")
	if err != nil {
		t.Fatal(err)
	}
	dir := s.url("rdma", "/export", "")
	r.ok(t, "", "ls", "--keytab", keytab, dir)
	r.ok(t, "", "ls", "--keytab", keytab, "--principal", "robot", dir)
	r.fails(t, "", "has no key of other@"+r.Realm, "ls", "--keytab", keytab, "--principal", "other", dir)
	r.fails(t, "alice", "the tickets are those of alice@"+r.Realm+", but --principal is bob: run kinit bob", "ls", "--principal", "bob", dir)
	env := []string{"KRB5CCNAME=FILE:" + r.cache(""), "KRB5_CLIENT_KTNAME=FILE:" + keytab}
	if got := r.runWith(t, env, "ls", dir); got.code != 0 {
		t.Errorf("by KRB5_CLIENT_KTNAME: %+v", got)
	}
}

// TestReload: re-reading the exports can turn on Kerberos, and existing contexts stay valid.
func TestReload(t *testing.T) {
	r := newRealm(t)
	file := filepath.Join(t.TempDir(), "exports")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("/a *(rw,insecure,memory,sec=krb5)\n")
	s := r.serve(t, "krb5", "--exports", file)
	r.copied(t, "alice", s.url("rdma", "/export/a", ""))
	write("/b *(rw,insecure,memory,no_root_squash,sec=krb5p)\n")
	if err := syscall.Kill(s.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.Log(), "exports reloaded"); {
		if time.Now().After(deadline) {
			t.Fatal("not reloaded")
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.ok(t, "alice", "stat", s.url("tcp", "/export/a", ""))
	r.ok(t, "alice", "stat", s.url("rdma", "/b", ""))
	r.fails(t, "alice", "/b is for callers with sec=krb5p", "stat", s.url("rdma", "/b", "krb5"))
}

// TestConf: with --conf gss, only authenticated clients can configure connections.
func TestConf(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "sys:krb5", "--conf", "gss")
	r.fails(t, "alice", "denies it to this caller: AUTH_TOOWEAK", "conf", s.url("rdma", "/", ""))
	r.fails(t, "", "run kinit", "conf", s.url("rdma", "/", "krb5"))
	if out := r.ok(t, "alice", "conf", s.url("rdma", "/", "krb5i")); !strings.Contains(out, "answers CONF_RDMA") {
		t.Errorf("got %s", out)
	}
	draft := r.serve(t, "krb5", "--conf", "gss", "--dialect", "draft")
	r.ok(t, "alice", "ls", "--dialect", "draft", draft.url("rdma", "/export", "krb5"))
}

// TestNFSPort: NFS over TCP is also served at port 2049, where clients can make contexts (RFC 8166
// section 8.2.2.1). The server prints this.
func TestNFSPort(t *testing.T) {
	for _, port := range []string{":2049", ":20048"} {
		l, err := net.Listen("tcp", port)
		if errors.Is(err, syscall.EADDRINUSE) {
			t.Skip("there is an NFS server on this host")
		} else if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	r := newRealm(t)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.CommandContext(ctx, command, "serve", "--memory", "/export", "--sec", "krb5", "--keytab", r.keytab,
		"--listen", "127.0.0.1:0", "--mount", ":20048")
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	got := outcome{code: 1}
	for deadline := time.Now().Add(time.Minute); got.code != 0 && time.Now().Before(deadline); {
		got = r.run(t, "alice", "ping", "--count", "1", "tcp://localhost:2049?sec=krb5")
	}
	cancel()
	_ = cmd.Wait() // it was killed
	if got.code != 0 {
		t.Errorf("ping at port 2049: %+v", got)
	}
	for _, want := range []string{
		"and on [::]:2049, where clients may make RPCSEC_GSS contexts",
		"nolock,noresvport,sec=krb5 localhost:/export /mnt\nor without RDMA",
		"nolock,sec=krb5 localhost:/export /mnt\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("greeting: %s, want %q", &out, want)
		}
	}
}

// TestPingAndProbe: ping calls with the flavour in the URL, and probe lists the flavours.
func TestPingAndProbe(t *testing.T) {
	r := newRealm(t)
	s := r.serve(t, "krb5i:sys")
	for _, sec := range []string{"", "sys", "krb5", "krb5i", "krb5p"} {
		r.ok(t, "alice", "ping", "--count", "2", "--interval", "0", s.url("rdma", "/", sec))
	}
	r.fails(t, "", "run kinit", "ping", "--count", "1", s.url("tcp", "/", "krb5"))
	for user, want := range map[string]string{"alice": "krb5i", "": "sys"} {
		var report struct {
			OK       bool
			Findings []struct {
				Step   string
				Values map[string]any
			}
		}
		out := r.ok(t, user, "probe", "--json", s.url("rdma", "/export", ""))
		if err := json.Unmarshal([]byte(out), &report); err != nil || !report.OK {
			t.Fatalf("%v\n%s", err, out)
		}
		told := make(map[string]any)
		for _, f := range report.Findings {
			for _, name := range []string{"sec", "taken", "gss"} {
				if v := f.Values[name]; v != nil {
					told[name] = v
				}
			}
		}
		if told["sec"] != "krb5i:sys" || told["taken"] != want || told["gss"] != true {
			t.Errorf("%q: told is %v, want %s taken", user, told, want)
		}
	}
}
