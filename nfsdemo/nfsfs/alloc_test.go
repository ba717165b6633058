//go:build !race

// Under the race detector, sync.Pool drops items at random.

package nfsfs_test

import (
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
)

// TestAllocs: READ and WRITE allocate only buffers for uncommitted data, which are reused.
func TestAllocs(t *testing.T) {
	for _, mode := range []pipe.Mode{pipe.Inline, pipe.Chunked} {
		f := mount(t, pipe.New(server(t, nil), mode), 0, nfsfs.Config{})
		for name, flag := range map[string]int{"unstable": 0, "synchronous": os.O_SYNC} {
			o := must(f.OpenFile(t.Context(), "file", os.O_RDWR|os.O_CREATE|flag, 0o644))(t)
			for _, n := range []int{1, 4 << 10, 1 << 20} {
				p := make([]byte, n)
				calls := map[string]func() (int, error){
					"WriteAt": func() (int, error) { return o.WriteAt(p, 0) },
					"ReadAt":  func() (int, error) { return o.ReadAt(p, 0) },
				}
				for _, call := range []string{"WriteAt", "ReadAt"} {
					once := func() {
						if m, err := calls[call](); m != n || err != nil {
							t.Fatal(m, err)
						}
					}
					// The memory of a call rests before it is reused.
					for range 100 {
						once()
					}
					if allocs := testing.AllocsPerRun(200, once); allocs != 0 {
						t.Errorf("%v, %s: %s of %d bytes: %v allocations", mode, name, call, n, allocs)
					}
				}
			}
			ok(t, o.Close())
		}
	}
}
