//go:build unix

package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
)

// hostUsers gives this host a getent and an id that are shell scripts.
func hostUsers(t *testing.T, getent, id string) {
	t.Helper()
	dir := t.TempDir()
	for name, script := range map[string]string{"getent": getent, "id": id} {
		err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700)
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

// evasHost is a getent for a host with a user and a group.
const evasHost = `case "$1 $2" in
"passwd eva" | "passwd 70001") echo 'eva:x:70001:70002::/:/bin/sh' ;;
"group folk" | "group 70003") echo 'folk:x:70003:eva' ;;
*) exit 2 ;;
esac`

// TestUsers: names and groups of users come from getent, in serve and in commands for files. Serve
// says so.
func TestUsers(t *testing.T) {
	hostUsers(t, evasHost, "echo 70002 70003")
	s := startServe(t, "--memory", "/export", "--manage-gids",
		"--squash", "all", "--anonuid", "eva", "--anongid", "folk")
	for _, want := range []string{
		"all squashed to 70001:70003)\n",
		"users and groups come from getent and id (/etc/nsswitch.conf)\n",
	} {
		if !strings.Contains(s.greeting, want) {
			t.Errorf("no %q in\n%s", want, s.greeting)
		}
	}
	url := "rdma://" + s.rdma + "/export/"
	for _, tt := range []struct{ args, want string }{
		{"mkdir --uid eva " + url + "new", ""},
		{"stat " + url + "new", "eva"},
		{"ls -l " + url, " folk "},
	} {
		code, stdout, stderr := execute(t, strings.Fields(tt.args)...)
		if code != 0 || !strings.Contains(stdout, tt.want) {
			t.Errorf("%s: exit %d, %s%s, want %q", tt.args, code, stdout, stderr, tt.want)
		}
	}
}

// TestUsersFail: a getent that fails is told apart from one that does not have the user. Without a
// getent, users and groups come from the host's files.
func TestUsersFail(t *testing.T) {
	hostUsers(t, "echo no server >&2; exit 1", "exit 1")
	file := filepath.Join(t.TempDir(), "serve.toml")
	if err := os.WriteFile(file, []byte("anongid = \"folk\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args string
		code int
		want string
	}{
		{"serve --config " + file, cli.ExitFailed, "the number of this group cannot be looked up"},
		{"serve --memory /m --anonuid eva", cli.ExitFailed,
			`the number of this user cannot be looked up: getent passwd eva: exit status 1: "no server"`},
		{"ls --uid 70001 rdma://127.0.0.1:1/", cli.ExitFailed,
			"the groups of user 70001 cannot be looked up: getent passwd 70001: exit status 1"},
	} {
		code, _, stderr := execute(t, strings.Fields(tt.args)...)
		if code != tt.code || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: exit %d, %s, want %q", tt.args, code, stderr, tt.want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	s := startServe(t, "--memory", "/export", "--manage-gids")
	want := "users and groups come from /etc/passwd and /etc/group, as there is no getent\n"
	if !strings.Contains(s.greeting, want) && runtime.GOOS != "darwin" {
		t.Errorf("no %q in\n%s", want, s.greeting)
	}
}
