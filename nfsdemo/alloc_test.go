//go:build !race

// Under the race detector, sync.Pool drops items at random.

package nfsdemo

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestAllocations checks that READ and WRITE allocate nothing in the steady state, from the
// client's call to the pages of the file system and back. SCTP is left out: pion/sctp allocates for
// each packet.
func TestAllocations(t *testing.T) {
	for name, p := range providers {
		if name == "sctp" {
			continue
		}
		t.Run(name, func(t *testing.T) { allocations(t, newRig(t, p, 1<<20)) })
	}
}

func allocations(t *testing.T, r *rig) {
	ctx := t.Context()
	for _, n := range []int{1 << 10, 4 << 10, 64 << 10, 1 << 20} {
		p := make([]byte, n)
		ops := map[string]func() error{
			"NULL":  func() error { return r.client.Null(ctx) },
			"READ":  func() error { _, err := r.client.Read(ctx, r.file, 0, p); return err },
			"WRITE": func() error { _, err := r.client.Write(ctx, r.file, 0, p, nfs3.Unstable); return err },
		}
		for name, op := range ops {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				call := func() {
					if err := op(); err != nil {
						t.Fatal(err)
					}
				}
				for range 100 { // the pools fill
					call()
				}
				if allocs := testing.AllocsPerRun(300, call); allocs != 0 {
					t.Errorf("%v allocations a call", allocs)
				}
			})
		}
	}
}
