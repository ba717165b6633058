// Package stats reads and sums statistics. Statistics are a struct with exported fields. Those of
// type uint64 are counters, which the layers count with atomic.AddUint64.
package stats

import (
	"reflect"
	"sync/atomic"
)

// Load returns the counters of s. It leaves out the fields of other types.
func Load[T any](s *T) (now T) {
	Add(&now, s)
	return now
}

// Add adds each counter of s to that of sum. Only s may be in use by others.
func Add[T any](sum, s *T) {
	to, from := reflect.ValueOf(sum).Elem(), reflect.ValueOf(s).Elem()
	for i := range from.NumField() {
		if n, ok := from.Field(i).Addr().Interface().(*uint64); ok {
			to.Field(i).SetUint(to.Field(i).Uint() + atomic.LoadUint64(n))
		}
	}
}
