//go:build interop

package linux

import (
	"path/filepath"
	"testing"
)

// TestVariants boots a guest with each variant of siw. It mounts both file systems, and its rping
// and ours ping each other. tshark decodes the traffic with the server.
func TestVariants(t *testing.T) {
	t.Parallel()
	for _, siw := range variants {
		t.Run(siw, func(t *testing.T) {
			t.Parallel()
			s, pings := serve(t), newRpingRuns(t, siw)
			pcap := filepath.Join(t.TempDir(), "pcap")
			g, sh := bootShells(t, machine{
				Siw: siw, Capture: pcap, Limit: longLimit(), Forwards: pings.forwards(),
			}, 2)
			s.mountBoth(t, sh[0], siw)
			pings.run(t, sh[1])
			g.closeShells(sh)
			g.wait(t)
			s.stop(t)
			checkCapture(t, pcap, s)
		})
	}
}

// mountBoth has a guest mount both file systems and run some of the steps.
func (s *nfsd) mountBoth(t *testing.T, sh *shell, siw string) {
	t.Helper()
	n := sizes{data: 3<<20 + 1, entries: 200}
	if *full {
		n = sizes{data: 24<<20 + 1, entries: 2000}
	}
	names := []string{"data", "symlinks"}
	if siw == "stock" { // the variants differ only in how a connection begins
		names = append(names, "bigdir", "rename", "trees")
	}
	sh.g.put("data", random(t, n.data))
	for _, export := range exports {
		m := s.mount(t, sh, export)
		for _, name := range names {
			m.step(t, name, n)
		}
		c := m.counters(t)
		t.Logf("%s: %+v", export, c)
		if c.ReadChunks == 0 || c.WriteChunks == 0 || c.ReplyChunks == 0 {
			t.Errorf("the client has not offered chunks of each kind: %+v", c)
		}
		m.unmount(t)
	}
}
