//go:build interop

package linux

import (
	"path/filepath"
	"testing"
)

// TestSmoke has every variant of siw mount both file systems, and go through some of the steps. tshark decodes what went over the network.
func TestSmoke(t *testing.T) {
	t.Parallel()
	n := sizes{data: 3<<20 + 1, entries: 200}
	if *full {
		n = sizes{data: 24<<20 + 1, entries: 2000}
	}
	for _, siw := range variants {
		t.Run(siw, func(t *testing.T) {
			t.Parallel()
			s := serve(t)
			pcap := filepath.Join(t.TempDir(), "pcap")
			g, sh := bootShells(t, machine{Siw: siw, Capture: pcap, Limit: longLimit()}, 1)
			g.put("data", random(t, n.data))
			for _, export := range exports {
				m := s.mount(t, sh[0], export)
				names := []string{"data", "symlinks"}
				if siw == "stock" { // the variants differ in how a connection begins
					names = append(names, "bigdir", "rename", "trees")
				}
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
			g.closeShells(sh)
			g.wait(t)
			s.stop(t)
			checkCapture(t, pcap, s)
		})
	}
}
