//go:build soak

package crowd

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/dirfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// TestDirectory reopens the file system with its server, by the kernel's handles and by names.
func TestDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to act for several users")
	}
	for name, byName := range map[string]bool{"kernel": false, "names": true} {
		t.Run(name, func(t *testing.T) {
			dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
			testCrowd(t, func() (vfs.FS, func() error) {
				fs, err := dirfs.New(dirfs.Config{Path: dir, State: state, ByName: byName})
				if err != nil {
					t.Fatal(err)
				}
				return fs, fs.Close
			})
		})
	}
}
