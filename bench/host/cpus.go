package host

import (
	"strconv"
	"strings"
)

// ParseCPUs parses CPU numbers separated by commas, such as "0,1".
func ParseCPUs(s string) ([]int, error) {
	var cpus []int
	for field := range strings.SplitSeq(s, ",") {
		cpu, err := strconv.Atoi(field)
		if err != nil {
			return nil, err
		}
		cpus = append(cpus, cpu)
	}
	return cpus, nil
}

// FormatCPUs is the inverse of ParseCPUs.
func FormatCPUs(cpus []int) string {
	var fields []string
	for _, cpu := range cpus {
		fields = append(fields, strconv.Itoa(cpu))
	}
	return strings.Join(fields, ",")
}
