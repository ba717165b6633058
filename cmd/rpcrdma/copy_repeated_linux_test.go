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

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// putOver runs put -r over a connection that changes what happens to calls of NFS. URLs begin with
// @.
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
	flags := newRemoteFlags()
	p := &put{copyOptions: copyOptions{recursive: true}, remotes: remotes{flags: flags}}
	if err := p.parse(args); err != nil {
		t.Fatal(err)
	}
	to, err := parseTarget(p.url)
	if err != nil {
		t.Fatal(err)
	}
	cred, err := flags.cred()
	if err != nil {
		t.Fatal(err)
	}
	p.remotes.servers = map[serverKey]*remoteServer{{scheme: to.scheme, host: to.host, port: to.port}: {
		flags: flags, target: to.at("/"), cred: cred, conn: change(dialTCP(t, r.tcp)), exports: make(map[string]*remote),
	}}
	code := exitOK
	if err := p.run(cmd); err == errReported {
		code = exitFailed
	} else if err != nil {
		t.Fatal(err)
	}
	return outcome{code, "", strings.ReplaceAll(stderr.String(), base, "@")}
}

// TestPutRepeated: what a call has done before its connection ended is not taken for a failure.
func TestPutRepeated(t *testing.T) {
	r := startRig(t)
	up := t.TempDir()
	tree(t, up, "tree/old:644:new", "tree/new:644:new", "tree/dir/file:644:new", "tree/link->new", "tree/other->new", "tree/same->new")
	r.file(t, "tree/old", "old")
	r.symlink(t, "old", "tree/other")
	r.symlink(t, "new", "tree/same")
	done(t, putOver(t, r, func(conn oncrpc.Transport) oncrpc.Transport { return forgetful{conn} }, filepath.Join(up, "tree"), "@/export"))
	if got, want := r.tree(t), treeOf(t, up); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// losing is a connection to a server in which somebody removes temporary files before they are
// renamed by a call that is repeated.
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

// TestPutRepeatedLost: what has the name but is not what was copied is no success.
func TestPutRepeatedLost(t *testing.T) {
	r := startRig(t)
	up := t.TempDir()
	tree(t, up, "file:644:new", "link->new")
	r.file(t, "file", "old")
	r.symlink(t, "old", "link")
	was := r.tree(t)
	for _, name := range []string{"file", "link"} {
		got := putOver(t, r, func(conn oncrpc.Transport) oncrpc.Transport { return losing{conn, r.dir} }, filepath.Join(up, name), "@/export")
		if want := (outcome{1, "", "rpcrdma put @/export/" + name + ": no such file or directory" + repeatedNote + "\n"}); got != want {
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

// TestPutForgotten: when the server has forgotten its file handles, what is left of a file is told
// after what went wrong.
func TestPutForgotten(t *testing.T) {
	r := startRig(t)
	next := startServe(t, "--export", "/export="+r.dir, "--squash", "none")
	up := t.TempDir()
	tree(t, up, "file:644:new")
	got := putOver(t, r, func(conn oncrpc.Transport) oncrpc.Transport {
		return moving{conn, dialTCP(t, next.tcp), new(atomic.Bool)}
	}, filepath.Join(up, "file"), "@/export")
	why := statusWords[nfs3.ErrStale]
	want := outcome{1, "", "rpcrdma put @/export/file: " + why + "\n" +
		"rpcrdma put @/export/" + names(t, r.dir) + ": an incomplete file may be left of that name: " + why + "\n"}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
