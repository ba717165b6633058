//go:build interop

package linux

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

var rewriteSetID = flag.Bool("rewrite-setid", false, "write down what the kernel does with set-ID bits")

// setIDFile has the kernel's known answers.
var setIDFile = filepath.Join("..", "..", "nfsdemo", "vfs", "vfstest", "testdata", "setid.txt")

// setID checks how the kernel's server treats set-ID bits. Our file systems do the same (vfstest),
// with one exception: they treat a SETATTR of the size like a WRITE.
func (k *knfsd) setID(t *testing.T) {
	s := &knfsdSetID{t: t, conn: k.dial(t, rpcrdma.Config{}), clients: make(map[*vfs.Cred]*nfsclient.Client)}
	top := k.root(t, open)
	root := &vfs.Cred{}
	dir, err := s.Make(root, top, "set-ID", nfs3.TypeDir, &nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o777}})
	if err != nil {
		t.Fatal(err)
	}
	s.observer = root
	var all strings.Builder
	for i, c := range vfstest.SetIDCases() {
		got, err := c.Run(s, dir, fmt.Sprint(i))
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		fmt.Fprintf(&all, "%s: %s\n", c, got)
	}
	if *rewriteSetID {
		if err := os.WriteFile(setIDFile, []byte(all.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	known, err := os.ReadFile(setIDFile)
	if err != nil {
		t.Fatal(err)
	}
	got, want := strings.Split(all.String(), "\n"), strings.Split(string(known), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d answers, %d are known", len(got), len(want))
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("the kernel: %s; known: %s", got[i], want[i])
		}
	}
}

// knfsdSetID makes the kernel's server a vfstest.SetIDServer.
type knfsdSetID struct {
	t        *testing.T
	conn     *rpcrdma.Conn
	observer *vfs.Cred
	clients  map[*vfs.Cred]*nfsclient.Client
}

func (s *knfsdSetID) as(c *vfs.Cred) *nfsclient.Client {
	if s.clients[c] == nil {
		a, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "test", UID: c.UID, GID: c.GID, GIDs: c.GIDs})
		if err != nil {
			s.t.Fatal(err)
		}
		s.clients[c] = nfsclient.New(s.conn, a)
	}
	return s.clients[c]
}

func (s *knfsdSetID) Make(
	c *vfs.Cred, dir nfs3.FH, name string, kind nfs3.FileType, set *nfs3.Sattr,
) (nfs3.FH, error) {
	ctx := s.t.Context()
	var o nfsclient.Object
	var err error
	switch kind {
	case nfs3.TypeReg:
		o, err = s.as(c).Create(ctx, dir, name, nfs3.CreateHow{Mode: nfs3.Guarded, Set: *set})
	case nfs3.TypeDir:
		o, err = s.as(c).Mkdir(ctx, dir, name, *set)
	default:
		o, err = s.as(c).Mknod(ctx, dir, name, kind, nfs3.Specdata{Major: 1, Minor: 3}, *set)
	}
	return o.File, err
}

func (s *knfsdSetID) SetAttr(c *vfs.Cred, h nfs3.FH, set *nfs3.Sattr) error {
	_, err := s.as(c).SetAttr(s.t.Context(), h, *set, nil)
	return err
}

func (s *knfsdSetID) Write(c *vfs.Cred, h nfs3.FH) error {
	_, err := s.as(c).Write(s.t.Context(), h, 0, []byte{1}, nfs3.FileSync)
	return err
}

func (s *knfsdSetID) Mode(h nfs3.FH) (uint32, error) {
	a, err := s.as(s.observer).GetAttr(s.t.Context(), h)
	return a.Mode, err
}
