package remote

import (
	"sync"
	"sync/atomic"
)

// maxAtOnce is how many files of a directory have something done with them at a time: enough that
// calls do not wait for one another's answers, and less than a server grants.
const maxAtOnce = 16

// AtOnce calls do for 0 to n-1, several at a time, and returns the errors.
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
