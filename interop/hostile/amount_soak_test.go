//go:build soak

package hostile_test

import "time"

const (
	burst = 60          // rounds of a bystander in a row
	pause = time.Second // between its later rounds

	// soaking lets three hosts make every attack in TestBystander, not only those on memory.
	soaking = true
)
