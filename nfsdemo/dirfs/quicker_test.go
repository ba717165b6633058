//go:build linux

package dirfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestRenameHostQuicker: a local process makes a file at the destination just before a client's
// rename. It is replaced only if the client may do so.
func TestRenameHostQuicker(t *testing.T) {
	needRoot(t)
	f := newIn(t, Config{Path: tempDir(t)})
	must(t, os.Chmod(f.tree.host.path, os.ModeSticky|0o777))
	path := func(name string) string { return filepath.Join(f.tree.host.path, name) }
	replaced := 0
	for i := range 300 {
		from, to := fmt.Sprint("from", i), fmt.Sprint("to", i)
		_, _, err := f.Create(t.Context(), somebody, f.Root(), from, &nfs3.CreateHow{})
		must(t, err)
		hosts := make(chan error)
		go func() {
			file, err := os.OpenFile(path(to), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
			if err == nil {
				_, err = file.WriteString("root's")
				err = errors.Join(err, file.Close())
			}
			hosts <- err
		}()
		_, _, err = f.Rename(t.Context(), somebody, f.Root(), from, f.Root(), to)
		made := <-hosts
		b, rerr := os.ReadFile(path(to))
		must(t, rerr)
		switch {
		case made == nil && (err == nil || string(b) != "root's"):
			t.Fatalf("round %d: root's file was replaced: %v, %q", i, err, b)
		case made != nil && err != nil:
			t.Fatalf("round %d: %v, %v", i, made, err)
		case err == nil:
			replaced++
		}
	}
	t.Logf("the client was quicker in %d rounds", replaced)
}
