//go:build interop

package commands

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/testkdc"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// command is the path of the rpcrdma command.
var command string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "commands")
	if err == nil {
		defer os.RemoveAll(dir)
		command, err = served.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// realm is a realm with alice and bob, and the server's keytab.
type realm struct {
	*testkdc.KDC
	keytab string // of nfs/localhost
	users  string // maps alice to a user
	caches map[string]string
}

// aliceID is alice's user and group ID at servers.
const aliceID = 1001

// newRealm starts a KDC that serves until the test ends.
func newRealm(t *testing.T) *realm {
	t.Helper()
	return newRealmOf(t, testkdc.Config{})
}

func newRealmOf(t *testing.T, cfg testkdc.Config) *realm {
	t.Helper()
	kdc, err := testkdc.Start(t.TempDir(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kdc.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := &realm{KDC: kdc, caches: make(map[string]string)}
	for name, p := range map[string]testkdc.Principal{
		"alice": {Password: "secret"}, "bob": {Password: "secret"}, "nfs/localhost": {}, "host/localhost": {},
	} {
		if err := r.Add(name, p); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"alice", "bob"} {
		if r.caches[name], err = r.Kinit(name, "secret"); err != nil {
			t.Fatal(err)
		}
	}
	if r.keytab, err = r.Keytab("nfs/localhost"); err != nil {
		t.Fatal(err)
	}
	r.users = filepath.Join(t.TempDir(), "users")
	text := fmt.Sprintf("alice@%s %d:%[2]d\n", r.Realm, aliceID)
	if err := os.WriteFile(r.users, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return r
}

// serve starts a server with an in-memory export that accepts the given flavours.
func (r *realm) serve(t *testing.T, sec string, options ...string) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	metrics := l.Addr().String() // unlikely to be taken again so soon
	l.Close()
	options = append([]string{"--memory", "/export", "--sec", sec, "--squash", "none", "--keytab", r.keytab,
		"--map-users", r.users, "--metrics", metrics}, options...)
	return &server{served.Start(t, command, options...), "http://" + metrics + "/metrics"}
}

// server is a server addressed by the name in its keytab.
type server struct {
	*served.Server
	metrics string // the URL
}

// url returns the URL of a path on the server.
func (s *server) url(scheme, path, sec string) string {
	port := map[string]int{"rdma": s.RDMA, "tcp": s.TCP}[scheme]
	return at(scheme, port, path, sec)
}

func at(scheme string, port int, path, sec string) string {
	u := url.URL{Scheme: scheme, Host: "localhost:" + strconv.Itoa(port), Path: path}
	if sec != "" {
		u.RawQuery = "sec=" + sec
	}
	return u.String()
}

// outcome is the exit status and the output of a command.
type outcome struct {
	code           int
	stdout, stderr string
}

// run runs a command with a user's tickets, or without any if user is "".
func (r *realm) run(t *testing.T, user string, args ...string) outcome {
	t.Helper()
	return r.runWith(t, []string{"KRB5CCNAME=FILE:" + r.cache(user)}, args...)
}

// cache returns the path of a user's credential cache.
func (r *realm) cache(user string) string {
	if user == "" {
		return filepath.Join(r.Dir, "nothing")
	}
	return r.caches[user]
}

// runWith runs a command with additional environment variables.
func (r *realm) runWith(t *testing.T, env []string, args ...string) outcome {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command, args...)
	cmd.Env = append(append(os.Environ(), r.Env()...), env...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ok runs a command that must succeed, and returns its output.
func (r *realm) ok(t *testing.T, user string, args ...string) string {
	t.Helper()
	got := r.run(t, user, args...)
	if got.code != 0 {
		t.Fatalf("%q by %q: exit %d\n%s%s", args, user, got.code, got.stdout, got.stderr)
	}
	return got.stdout
}

// fails runs a command that must fail with a message containing want.
func (r *realm) fails(t *testing.T, user, want string, args ...string) {
	t.Helper()
	got := r.run(t, user, args...)
	if got.code != 1 || !strings.Contains(got.stderr, want) {
		t.Errorf("%q by %q: exit %d, %s%swant exit 1, and %q", args, user, got.code, got.stdout, got.stderr, want)
	}
}
