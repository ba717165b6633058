package cli

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// Size is a number of bytes.
type Size int64

// units are the units of a size, the largest first. The first letter is enough.
var units = []struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}}

// Set takes a whole number of bytes, or a whole number and a unit.
func (z *Size) Set(s string) error {
	number, unit := s, int64(1)
	for _, u := range units {
		for _, name := range []string{u.name, u.name[:1]} {
			if n, ok := strings.CutSuffix(s, name); ok {
				number, unit = n, u.bytes
			}
		}
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n <= 0 || n > math.MaxInt64/unit {
		return errors.New("write a number of bytes, or a number and its unit (KiB, MiB, GiB or TiB), such as 4GiB")
	}
	*z = Size(n * unit)
	return nil
}

// String returns the size in the largest unit that divides it.
func (z *Size) String() string {
	for _, u := range units {
		if n := int64(*z); n != 0 && n%u.bytes == 0 {
			return strconv.FormatInt(n/u.bytes, 10) + u.name
		}
	}
	return strconv.FormatInt(int64(*z), 10)
}

// Type names the value in the usage.
func (z *Size) Type() string { return "SIZE" }
