//go:build interop

package linux

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
)

// random returns random bytes, and logs the seed.
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

// checkFile checks the content of a file on this machine.
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

// figures returns the measurements of the step data. Its output has the times at which writing and
// reading n bytes began and ended.
func figures(t *testing.T, out string, n int) string {
	t.Helper()
	var at [4]float64
	_, line, _ := strings.Cut(out, "FIGURES ")
	if _, err := fmt.Sscan(line, &at[0], &at[1], &at[2], &at[3]); err != nil {
		t.Fatalf("no figures in %q: %v", out, err)
	}
	rate := func(from, to float64) float64 { return float64(n) / (1 << 20) / max(to-from, 0.01) }
	return fmt.Sprintf("%.0f MiB: %.0f MiB/s written and synced, %.0f MiB/s read", float64(n)/(1<<20), rate(at[0], at[1]), rate(at[2], at[3]))
}
