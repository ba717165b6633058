package remote

import (
	"sync"
	"sync/atomic"
)

// maxAtOnce is how many files AtOnce handles concurrently: enough to hide the latency of calls, and
// fewer than the credits of a server.
const maxAtOnce = 16

// AtOnce calls do with 0 to n-1, several concurrently, and returns the errors.
func AtOnce(n int, do func(i int) error) []error {
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(n, maxAtOnce) {
		wg.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[i] = do(i)
			}
		})
	}
	wg.Wait()
	return errs
}
