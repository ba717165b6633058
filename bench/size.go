package bench

import (
	"fmt"
	"math"
)

// FormatSize formats a size in bytes: "256 B", "1.5 KiB", "4 MiB".
func FormatSize(n int) string {
	unit, x := "B", float64(n)
	for _, u := range []string{"KiB", "MiB"} {
		if x < 1024 {
			break
		}
		unit, x = u, x/1024
	}
	if x < 100 && x != math.Trunc(x) {
		return fmt.Sprintf("%.1f %s", x, unit)
	}
	return fmt.Sprintf("%.0f %s", x, unit)
}
