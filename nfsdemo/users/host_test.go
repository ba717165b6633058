//go:build unix

package users_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/users"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// commands makes getent and id of shell scripts the only ones on PATH. They add their arguments to
// the file that it returns.
func commands(t *testing.T, getent, id string) (asked string) {
	t.Helper()
	dir := t.TempDir()
	asked = filepath.Join(dir, "asked")
	for name, script := range map[string]string{"getent": getent, "id": id} {
		script = fmt.Sprintf("#!/bin/sh\nprintf '%%s\\n' \"%s $*\" >>%s\n%s\n", name, asked, script)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
	return asked
}

const (
	// alice is a getent that knows a user and a group.
	alice = `case "$1 $2" in
"passwd alice" | "passwd 1000") echo 'alice:x:1000:100:A:/:/bin/sh' ;;
"group staff" | "group 50") echo 'staff:x:50:alice,bob' ;;
*) exit 2 ;;
esac`
	groups = "echo 50 100 4294967294" // an id; the primary group is not the first
)

// TestHostCommands: users and groups come from getent and id.
func TestHostCommands(t *testing.T) {
	commands(t, alice, groups)
	h := users.Host()
	if got, want := h.String(), "getent and id (/etc/nsswitch.conf)"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	all := []uint32{100, 50, 4294967294}
	c, err := h.User("alice")
	if want := (&vfs.Cred{UID: 1000, GID: 100, GIDs: all}); err != nil || !cmp.Equal(c, want) {
		t.Errorf("%+v, %v, want %+v", c, err, want)
	}
	if got, err := h.Groups(1000); err != nil || !slices.Equal(got, all) {
		t.Errorf("groups %v, %v", got, err)
	}
	uid, err := h.UserID("alice")
	if err != nil || uid != 1000 {
		t.Errorf("alice: %d, %v", uid, err)
	}
	gid, err := h.GroupID("staff")
	if err != nil || gid != 50 {
		t.Errorf("staff: %d, %v", gid, err)
	}
	name, err := h.UserName(1000)
	if err != nil || name != "alice" {
		t.Errorf("user 1000: %s, %v", name, err)
	}
	name, err = h.GroupName(50)
	if err != nil || name != "staff" {
		t.Errorf("group 50: %s, %v", name, err)
	}
	_, unknownUser := h.Groups(1001)
	_, unknownGroup := h.GroupName(51)
	if !errors.Is(unknownUser, users.ErrUnknown) || !errors.Is(unknownGroup, users.ErrUnknown) {
		t.Errorf("unknown: %v, %v", unknownUser, unknownGroup)
	}
}

// TestHostCommandsFail: whatever else than an answer comes is an error, and not that there is no
// such user.
func TestHostCommandsFail(t *testing.T) {
	for _, tt := range []struct{ name, getent, id, want string }{
		{"an error", "echo no memory >&2; exit 3", groups,
			`getent passwd 1000: exit status 3: "no memory"`},
		{"a signal", "kill -9 $$", groups, "signal: killed"},
		{"nothing", "", groups, `malformed entry ""`},
		{"few fields", "echo alice:x:1000:100", groups, "malformed entry"},
		{"another user", "echo alice:x:0:0:A:/:/bin/sh", groups, `got user "0"`},
		{"no number", "echo alice:x:1000:all:A:/:/bin/sh", groups, `"all" is not a number`},
		{"no group", "echo alice:x:1000:4294967295:A:/:/bin/sh", groups, "is not a number"},
		{"no name", "echo :x:1000:100:A:/:/bin/sh", groups, "malformed entry"},
		{"too much", "/usr/bin/head -c 5000000 /dev/zero", groups, "more than 4194304 bytes"},
		{"id fails", alice, "exit 1", "id -G alice: exit status 1"},
		{"id fails like getent", alice, "exit 2", "id -G alice: exit status 2"},
		{"id of no groups", alice, "", "no groups"},
		{"id of names", alice, "echo 100 staff", `"staff" is not a number`},
		{"id of too many", alice, "echo 100 4294967296", "is not a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			commands(t, tt.getent, tt.id)
			got, err := users.Host().Groups(1000)
			if err == nil || errors.Is(err, users.ErrUnknown) || got != nil ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// TestHostNamesOfOthers: a user whose name id would take for an option or a number has groups, too.
func TestHostNamesOfOthers(t *testing.T) {
	for name, asks := range map[string]string{
		"alice": "alice", "a b": "a b", "12345": "+1000", "0": "+1000", "-a": "+1000", " +0": "+1000",
	} {
		asked := commands(t, "echo '"+name+":x:1000:100:A:/:/bin/sh'", groups)
		h := users.Host()
		got, err := h.Groups(1000)
		if err != nil || !slices.Equal(got, []uint32{100, 50, 4294967294}) {
			t.Errorf("%q: %v, %v", name, got, err)
		}
		want := "getent passwd 1000\nid -G " + asks + "\n"
		if b, _ := os.ReadFile(asked); string(b) != want {
			t.Errorf("%q: asked %q, want %q", name, b, want)
		}
		if got, err := h.UserName(1000); got != name || err != nil {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// TestHostNames: names that getent or id would take for options or numbers are not asked for. The
// others are asked for as they are, without a shell.
func TestHostNames(t *testing.T) {
	for _, name := range []string{"", "0", " 0", " +0", " -x", "-0", "+0", "+", "--help", "-x",
		"12 34", "a:b", "a\nb", "a\x00b", "a\tb"} {
		asked := commands(t, "echo root:x:0:0:root:/:/bin/sh", groups)
		c, err := users.Host().User(name)
		_, notAsked := os.Stat(asked)
		if c != nil || !errors.Is(err, users.ErrUnknown) || !errors.Is(notAsked, os.ErrNotExist) {
			t.Errorf("%q: %+v, %v", name, c, err)
		}
	}
	for _, name := range []string{"$(id)", "a b", `DOMAIN\eva`, "eva@example.org", "0a", "*"} {
		asked := commands(t, "exit 2", groups)
		c, err := users.Host().User(name)
		got, _ := os.ReadFile(asked)
		if c != nil || !errors.Is(err, users.ErrUnknown) || string(got) != "getent passwd "+name+"\n" {
			t.Errorf("%q: %+v, %v, asked %q", name, c, err, got)
		}
	}
}

// TestHostFiles: without getent or without id, users and groups come from the host's files.
func TestHostFiles(t *testing.T) {
	for _, missing := range []string{"getent", "id"} {
		asked := commands(t, alice, groups)
		if err := os.Remove(filepath.Join(filepath.Dir(asked), missing)); err != nil {
			t.Fatal(err)
		}
		h := users.Host()
		if _, err := h.User("root"); err != nil || strings.HasPrefix(h.String(), "getent") {
			t.Errorf("without %s: %v, %v", missing, h, err)
		}
		if _, err := os.Stat(asked); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("without %s the other is asked: %v", missing, err)
		}
	}
}
