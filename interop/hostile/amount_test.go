//go:build !soak

package hostile_test

import "time"

const (
	burst = 20              // rounds of a bystander in a row
	pause = 4 * time.Second // between its later rounds

	// soaking lets three hosts make every attack in TestBystander, not only those on memory.
	soaking = false
)
