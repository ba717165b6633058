//go:build interop

package linux

import (
	"fmt"
	"strings"
	"testing"
)

// figures returns, in words, what the step data has measured: the times at which writing n bytes began and ended, and
// reading them.
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
