package paired

import "fmt"

// missed lists the bounds of c that the report does not meet.
func (r *Report) missed(c Comparison) []string {
	var all []string
	ratio := r.Ratio().Median
	if low, high := r.Interval(); c.Above > 0 && !(low > c.Above) {
		all = append(all, fmt.Sprintf(
			"got %.3f times the %s of %s, from %.3f to %.3f at 95 %%, want more than %v",
			ratio, r.Candidate.Metric, c.Yardstick, low, high, c.Above))
	}
	switch {
	case c.Bound == 0:
	case r.Candidate.Metric == Latency && ratio > c.Bound:
		all = append(all, fmt.Sprintf("got %.3f times the latency of %s, want at most %v", ratio, c.Yardstick, c.Bound))
	case r.Candidate.Metric != Latency && ratio < c.Bound:
		all = append(all, fmt.Sprintf("got %.3f times the %s of %s, want at least %v",
			ratio, r.Candidate.Metric, c.Yardstick, c.Bound))
	}
	if cpu := r.CPU().Median; c.MaxCPU > 0 && cpu > c.MaxCPU {
		all = append(all, fmt.Sprintf("got %.3f times the CPU time of %s, want at most %v", cpu, c.Yardstick, c.MaxCPU))
	}
	_, side := r.Sides()
	for _, end := range []struct {
		role   string
		allocs float64
	}{{serverRole, side.ServerAllocs}, {clientRole, side.ClientAllocs}} {
		if end.allocs > c.MaxAllocs {
			all = append(all, fmt.Sprintf("got %.3f allocations an operation at the %s, want at most %v",
				end.allocs, end.role, c.MaxAllocs))
		}
	}
	return all
}
