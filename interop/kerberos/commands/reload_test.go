//go:build interop

package commands

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestReloadUsers: once --map-users has been read again, a principal is another user, even if the
// server knew the principal before. The flavours of the exports come from --sec.
func TestReloadUsers(t *testing.T) {
	r := newRealm(t)
	exports := filepath.Join(t.TempDir(), "exports")
	write := func(path, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(exports, "/file *(rw,insecure,memory)\n")
	s := r.serve(t, "krb5p", "--exports", exports)
	url := s.url("tcp", "/file/", "")
	r.fails(t, "", "/file is for callers with sec=krb5p", "ls", url)
	put := func(name string) string {
		from := filepath.Join(t.TempDir(), name)
		write(from, "data")
		r.ok(t, "alice", "put", from, url+name)
		return r.ok(t, "alice", "ls", "-l", "-n", url+name)
	}
	if ls := put("before"); !strings.Contains(ls, " "+strconv.Itoa(aliceID)+" ") {
		t.Errorf("alice's file: %s", ls)
	}
	write(r.users, "alice@"+r.Realm+" 4711:4711\n")
	if err := syscall.Kill(s.PID(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(s.Log(), "exports reloaded"); {
		if time.Now().After(deadline) {
			t.Fatal("the exports are not read again")
		}
		time.Sleep(time.Millisecond)
	}
	if ls := put("after"); !strings.Contains(ls, " 4711 ") {
		t.Errorf("the file of alice, who is another user now: %s", ls)
	}
}
