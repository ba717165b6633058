//go:build !race

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/internal/soak"
)

// TestCopyManyFiles: 300 small files, both ways, and 4,100 in one directory, which is more than one
// batch.
func TestCopyManyFiles(t *testing.T) {
	r := startRig(t)
	many := soak.Amount(300, 2000)
	for _, tt := range []struct {
		scheme             string
		files, directories int
	}{{"rdma", many, 20}, {"tcp", many, 20}, {"rdma", soak.Amount(4100, 5000), 1}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			source := t.TempDir()
			for i := range tt.files {
				dir := filepath.Join(source, fmt.Sprint(i%tt.directories))
				if err := os.MkdirAll(dir, 0o755); err != nil {
					t.Fatal(err)
				}
				rig.Write(t, filepath.Join(dir, fmt.Sprint(i)), fmt.Append(nil, "content of ", i))
			}
			up := fmt.Sprint("@/memory/", tt.scheme, tt.files)
			done(t, r.exec(t, tt.scheme, "put", "-r", source, up))
			down := filepath.Join(t.TempDir(), "down")
			done(t, r.exec(t, tt.scheme, "get", "-r", up, down))
			if got, want := rig.TreeOf(t, down), rig.TreeOf(t, source); got != want {
				t.Errorf("got\n%swant\n%s", got, want)
			}
		})
	}
}
