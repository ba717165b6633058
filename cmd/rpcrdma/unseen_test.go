package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// covered is a file system with a mount point at each name "mnt", as a server shows it that does
// not enter it: the list has only the name.
type covered struct{ vfs.FS }

func (c covered) ReadDir(ctx context.Context, cred *vfs.Cred, dir nfs3.FH, cookie uint64,
	verf nfs3.Verifier, plus bool, yield func(*nfs3.Entry) bool) (vfs.DirResult, error) {
	return c.FS.ReadDir(ctx, cred, dir, cookie, verf, plus, func(e *nfs3.Entry) bool {
		if e.Name == "mnt" {
			e = &nfs3.Entry{FileID: e.FileID, Name: e.Name, Cookie: e.Cookie}
		}
		return yield(e)
	})
}

func (c covered) Lookup(ctx context.Context, cred *vfs.Cred, dir nfs3.FH,
	name string) (vfs.Object, nfs3.PostOpAttr, error) {
	o, attr, err := c.FS.Lookup(ctx, cred, dir, name)
	if err == nil && name == "mnt" {
		return vfs.Object{}, attr, nfs3.ErrAcces
	}
	return o, attr, err
}

// TestUnseen: ls lists an entry that cannot be looked up. The error is about this entry alone, and
// does not blame the user.
func TestUnseen(t *testing.T) {
	mem, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	addr := tcpServer(t, programsOf(t, nfsserver.Export{Path: "/e", FS: covered{mem},
		Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}})...)
	base := "tcp://" + addr + "/e"
	for _, args := range []string{"mkdir -p --uid 0 URL/d/mnt", "touch --uid 0 -d 2006-01-02T15:04:05Z URL/d/z"} {
		if code, _, stderr := execute(t, strings.Fields(strings.ReplaceAll(args, "URL", base))...); code != 0 {
			t.Fatal(stderr)
		}
	}
	const why = "the server does not say what this is: its directory may not be searched by the caller, " +
		"or another file system is mounted there, which it has to export by itself\n"
	to := filepath.Join(t.TempDir(), "to")
	for _, tt := range []struct {
		args, stdout, stderr string
		code                 int
	}{
		{"ls URL/d", "mnt\nz\n", "", 0},
		{"ls -n URL/d", "total 0\n?????????? ? ? ? ?                   ? mnt\nMODE 1 0 0 0 TIME z\n", "rpcrdma ls URL/d/mnt: " + why, 1},
		{"ls URL/d/*t", "", "rpcrdma ls URL/d/mnt: permission denied", 1},
		{"get -qr URL/d " + to, "", "rpcrdma get URL/d/mnt: " + why, 1},
		{"chmod --uid 0 -R 700 URL/d", "", "rpcrdma chmod URL/d: mnt: " + why, 1},
	} {
		code, stdout, stderr := execute(t, strings.Fields(strings.ReplaceAll(tt.args, "URL", base))...)
		stderr = strings.ReplaceAll(stderr, base, "URL")
		if tt.args == "ls -n URL/d" { // in local time, and with the umask
			stdout = ttyTime.ReplaceAllString(stdout, "TIME")
			stdout = fileMode.ReplaceAllString(stdout, "MODE")
		}
		if code != tt.code || stdout != tt.stdout || !strings.HasPrefix(stderr, tt.stderr) || tt.stderr == "" && stderr != "" {
			t.Errorf("%s: got %d, %q, %q, want %d, %q, %q", tt.args, code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
		}
	}
	if _, err := os.Stat(filepath.Join(to, "z")); err != nil {
		t.Errorf("what can be copied is not: %v\n%s", err, rig.TreeOf(t, to))
	}
}

var (
	ttyTime  = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`)
	fileMode = regexp.MustCompile(`(?m)^-rw\S+`)
)
