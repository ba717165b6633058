package cli

import (
	"strconv"
)

// HumanSize returns bytes as ls -h prints them: in units of powers of 1024, with one decimal below
// 10, rounded up.
func HumanSize(n uint64) string {
	if n < 1<<10 {
		return strconv.FormatUint(n, 10)
	}
	const letters = "KMGTPE"
	i, unit := 0, uint64(1<<10)
	for ; i < len(letters)-1 && units10(n, unit) > 9999 && n > 1023*unit; i++ {
		unit <<= 10
	}
	if tenths := units10(n, unit); tenths < 100 {
		return strconv.FormatUint(tenths/10, 10) + "." + strconv.FormatUint(tenths%10, 10) + letters[i:i+1]
	}
	whole := n / unit
	if n%unit != 0 {
		whole++
	}
	return strconv.FormatUint(whole, 10) + letters[i:i+1]
}

// Bytes is HumanSize with the unit in full, such as "1.5 KiB".
func Bytes(n int64) string {
	text := HumanSize(uint64(max(n, 0)))
	if last := len(text) - 1; text[last] > '9' {
		return text[:last] + " " + text[last:] + "iB"
	}
	return text + " B"
}

// units10 returns tenths of units, rounded up.
func units10(n, unit uint64) uint64 {
	whole, rest := n/unit, n%unit
	tenths := whole * 10
	// Drop the low bits of large units, so that nothing overflows.
	for unit > 1<<50 {
		unit, rest = unit>>10, (rest+1023)>>10
	}
	return tenths + (rest*10+unit-1)/unit
}
