//go:build interop

package linux

import (
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// TestVariants boots a guest with each variant of siw.
func TestVariants(t *testing.T) {
	t.Parallel()
	n := sizes{data: 3<<20 + 1, entries: 200}
	if *full {
		n = sizes{data: 24<<20 + 1, entries: 2000}
	}
	for _, siw := range variants {
		t.Run(siw, func(t *testing.T) {
			t.Parallel()
			names := []string{"data", "symlinks"}
			if siw == stock { // the variants differ only in how a connection begins
				names = append(names, "bigdir", "rename", "trees")
			}
			testVariant(t, siw, names, n)
		})
	}
}

// testVariant has a variant of siw mount both file systems, and run steps there. Its rping and ours
// ping each other. Mounts of NFSv4.1 over stock siw are called back. tshark decodes the traffic
// with the server.
func testVariant(t *testing.T, siw string, names []string, n sizes) {
	t.Helper()
	s, pings := serve(t), newRpingRuns(t, siw)
	pcap := filepath.Join(evidence.Dir(t), "pcap")
	g, sh := bootShells(t, machine{Siw: siw, Capture: pcap, Forwards: pings.forwards()}, 2)
	var calledBack bool // a subtest of its own, which -run may leave out
	if siw == stock {
		t.Run("idle", func(*testing.T) { calledBack = true })
	}
	var idle *idleMount
	if calledBack {
		idle = overSIW.beginIdle(t, sh[1]) // goes on beside what follows
	}
	s.runSteps(t, sh[0], exports, names, n)
	t.Run("rping", func(t *testing.T) { pings.run(t, sh[1]) })
	if siw == stock {
		t.Run("backward", func(t *testing.T) { overSIW.backward(t, sh[0]) })
	}
	if calledBack {
		idle.end(t)
	}
	g.closeShells(sh)
	g.wait(t)
	s.stop(t)
	checkCapture(t, pcap, s)
}
