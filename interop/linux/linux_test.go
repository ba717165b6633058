//go:build interop

package linux

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// variants are those of siw.
var variants = []string{"stock", "crc", "p2p", "mpa1"}

// TestSteps has Linux mount a file system in memory and a directory, and go through all steps on each.
func TestSteps(t *testing.T) {
	if *full {
		t.Run("control", control)
	}
	for _, siw := range inFull() {
		for _, export := range exports {
			t.Run(siw+export, func(t *testing.T) {
				t.Parallel()
				n := sizes{data: 64 << 20, entries: 10_000, fio: 64}
				switch {
				case *full:
					n.data, n.fio = 1<<30, 256
				case export == memory: // what takes long is for the other
					n.entries, n.fio = 2000, 32
				}
				s := serve(t)
				g, sh := bootShells(t, machine{Siw: siw, Limit: longLimit()}, 1)
				data := random(t, n.data)
				g.put("data", data)
				m := s.mount(t, sh[0], export)
				for _, name := range allSteps(t) {
					t.Run(name, func(t *testing.T) { m.timed(t, name, n) })
				}
				m.unmount(t)
				if export == directory {
					checkFile(t, filepath.Join(s.dir, "data", "data"), data)
				}
				g.closeShells(sh)
				g.wait(t)
				s.stop(t)
			})
		}
	}
}

// inFull are the variants of siw with which everything is done.
func inFull() []string {
	if *full {
		return variants
	}
	return variants[:1]
}

// longLimit is for guests that do much.
func longLimit() time.Duration {
	if *full {
		return time.Hour
	}
	return 10 * time.Minute
}

// timed runs a step and logs how long it took.
func (m *mount) timed(t *testing.T, name string, n sizes) {
	t.Helper()
	start := time.Now()
	out := m.step(t, name, n)
	if name == "data" {
		out = figures(t, out, n.data)
	}
	t.Logf("%.1f s %s", time.Since(start).Seconds(), out)
}

// random returns bytes of chance, the seed of which is logged.
func random(t *testing.T, n int) []byte {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	var key [32]byte
	copy(key[:], strconv.FormatUint(seed, 10))
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}

// checkFile checks what is in a file of this machine.
func checkFile(t *testing.T, name string, want []byte) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil {
		t.Error(err)
		return
	}
	if !bytes.Equal(got, want) {
		n := 0
		for n < len(got) && n < len(want) && got[n] == want[n] {
			n++
		}
		t.Errorf("%s has %d bytes, want %d: first difference at %d", name, len(got), len(want), n)
	}
}
