package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/cli"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/copying"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/reach"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/remote"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/words"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// putOver runs put -r over a connection that interferes with NFS calls. URLs begin with @.
func putOver(t *testing.T, r *clientRig, change func(oncrpc.Transport) oncrpc.Transport,
	args ...string) outcome {
	t.Helper()
	base := r.base("tcp")
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "@/", base+"/")
	}
	var stderr bytes.Buffer
	cmd := &cobra.Command{Use: "put"}
	cmd.SetContext(t.Context())
	cmd.SetErr(&stderr)
	flags := remote.NewFlags()
	p := &copying.Put{Options: copying.Options{Recursive: true}, Remotes: remote.Session{Flags: flags}}
	if err := p.Parse(args); err != nil {
		t.Fatal(err)
	}
	to, err := reach.ParseTarget(p.URL)
	if err != nil {
		t.Fatal(err)
	}
	cred, err := flags.Cred()
	if err != nil {
		t.Fatal(err)
	}
	p.Remotes.Servers = map[remote.ServerKey]*remote.Server{{Scheme: to.Scheme, Host: to.Host, Port: to.Port}: {
		Flags: flags, Target: to.At("/"), Cred: cred, Conn: change(dialTCP(t, r.tcp)), Exports: make(map[string]*remote.Export),
	}}
	code := cli.ExitOK
	if err := p.Run(cmd); err == cli.ErrReported {
		code = cli.ExitFailed
	} else if err != nil {
		t.Fatal(err)
	}
	return outcome{code, "", summary.ReplaceAllString(strings.ReplaceAll(stderr.String(), base, "@"), "")}
}

// TestPutRepeated: a repeated call that has already succeeded does not count as a failure.
func TestPutRepeated(t *testing.T) {
	r := startRig(t)
	up := t.TempDir()
	tree(t, up, "tree/old:644:new", "tree/new:644:new", "tree/dir/file:644:new", "tree/link->new", "tree/other->new", "tree/same->new")
	r.file(t, "tree/old", "old")
	r.symlink(t, "old", "tree/other")
	r.symlink(t, "new", "tree/same")
	done(t, putOver(t, r, func(conn oncrpc.Transport) oncrpc.Transport { return rig.Forgetful{Transport: conn} }, filepath.Join(up, "tree"), "@/export"))
	if got, want := r.tree(t), rig.TreeOf(t, up); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// losing is a connection to a server where temporary files disappear before a repeated call renames
// them.
type losing struct {
	oncrpc.Transport
	dir string
}

func (l losing) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	if program := binary.BigEndian.Uint32(x.Call.Inline[3*4:]); program == nfs3.Program &&
		nfs3.Proc(binary.BigEndian.Uint32(x.Call.Inline[5*4:])) == nfs3.ProcRename {
		temps, err := filepath.Glob(filepath.Join(l.dir, ".rpcrdma-*"))
		if err != nil {
			return err
		}
		for _, name := range temps {
			if err := os.Remove(name); err != nil {
				return err
			}
		}
		x.Repeated = true
	}
	return l.Transport.RoundTrip(ctx, x)
}

// TestPutRepeatedLost: another file under the name is not a success.
func TestPutRepeatedLost(t *testing.T) {
	r := startRig(t)
	up := t.TempDir()
	tree(t, up, "file:644:new", "link->new")
	r.file(t, "file", "old")
	r.symlink(t, "old", "link")
	was := r.tree(t)
	for _, name := range []string{"file", "link"} {
		got := putOver(t, r, func(conn oncrpc.Transport) oncrpc.Transport { return losing{conn, r.dir} }, filepath.Join(up, name), "@/export")
		if want := (outcome{1, "", "rpcrdma put @/export/" + name + ": no such file or directory" + words.RepeatedNote + "\n"}); got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	if got := r.tree(t); got != was {
		t.Errorf("got\n%swant\n%s", got, was)
	}
}

// moving is a connection that leads to another server from the first RENAME on.
type moving struct {
	oncrpc.Transport
	next  oncrpc.Transport
	moved *atomic.Bool
}

func (m moving) RoundTrip(ctx context.Context, x *oncrpc.Exchange) error {
	program, proc := binary.BigEndian.Uint32(x.Call.Inline[3*4:]), nfs3.Proc(binary.BigEndian.Uint32(x.Call.Inline[5*4:]))
	if m.moved.Load() || program == nfs3.Program && proc == nfs3.ProcRename {
		m.moved.Store(true)
		return m.next.RoundTrip(ctx, x)
	}
	return m.Transport.RoundTrip(ctx, x)
}

// TestPutForgotten: if the server has forgotten its file handles, put says what went wrong, and
// then what is left.
func TestPutForgotten(t *testing.T) {
	r := startRig(t)
	next := startServe(t, "--export", "/export="+r.dir, "--squash", "none")
	up := t.TempDir()
	tree(t, up, "file:644:new")
	got := putOver(t, r, func(conn oncrpc.Transport) oncrpc.Transport {
		return moving{conn, dialTCP(t, next.tcp), new(atomic.Bool)}
	}, filepath.Join(up, "file"), "@/export")
	why := words.StatusWords[nfs3.ErrStale]
	want := outcome{1, "", "rpcrdma put @/export/file: " + why + "\n" +
		"rpcrdma put @/export/" + names(t, r.dir) + ": an incomplete file of that name may be left: " + why + "\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
