package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// endless is a file system whose directories never end: they have ever new names of one file.
type endless struct {
	vfs.FS
	file vfs.Object
}

func (e *endless) ReadDir(_ context.Context, _ *vfs.Cred, _ nfs3.FH, cookie uint64, _ nfs3.Verifier,
	_ bool, yield func(*nfs3.Entry) bool) (vfs.DirResult, error) {
	for {
		cookie++
		entry := nfs3.Entry{FileID: 2, Name: fmt.Sprint("f", cookie), Cookie: cookie, Attr: e.file.Attr}
		entry.File = nfs3.PostOpFH{Present: true, FH: e.file.File}
		if !yield(&entry) {
			return vfs.DirResult{}, nil
		}
	}
}

func (e *endless) Lookup(ctx context.Context, c *vfs.Cred, dir nfs3.FH,
	name string) (vfs.Object, nfs3.PostOpAttr, error) {
	if strings.Contains(name, "*") {
		return vfs.Object{}, nfs3.PostOpAttr{}, nfs3.ErrNoEnt
	}
	return e.FS.Lookup(ctx, c, dir, "file")
}

// TestEndless: the listing of an endless directory stops at a limit, with an error.
func TestEndless(t *testing.T) {
	held, listed := remote.MostHeld, remote.MostListed
	remote.MostHeld, remote.MostListed = 300, 450
	t.Cleanup(func() { remote.MostHeld, remote.MostListed = held, listed })
	mem, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	file, _, err := mem.Create(t.Context(), &vfs.Cred{}, mem.Root(), "file", &nfs3.CreateHow{
		Set: nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o666}},
	})
	if err != nil {
		t.Fatal(err)
	}
	addr := tcpServer(t, programsOf(t, nfsserver.Export{Path: "/e", FS: &endless{mem, file},
		Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}})...)
	url := "tcp://" + addr + "/e"
	for _, tt := range []struct {
		args  string
		lines int
		most  int
	}{
		{"ls URL", 300, 300},
		{"ls -l URL", 301, 300}, // with the total
		{"ls -R URL", 301, 300}, // with the URL
		{"ls -U URL", 450, 450},
		{"ls URL/x*", 0, 450},
		{"chmod -R 600 URL", 0, 300},
		{"get -qr URL DIR", 0, 450},
	} {
		args := strings.NewReplacer("URL", url, "DIR", filepath.Join(t.TempDir(), "d")).Replace(tt.args)
		code, stdout, stderr := execute(t, strings.Fields(args)...)
		said := fmt.Sprintf(": more than %d entries: given up", tt.most)
		if n := strings.Count(stdout, "\n"); code != cli.ExitFailed || n != tt.lines || strings.Count(stderr, said) != 1 {
			t.Errorf("%s: got %d, %d lines, %q, want %d lines and %s", tt.args, code, n, stderr, tt.lines, said)
		}
	}
}
