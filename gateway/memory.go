package gateway

import "github.com/rpcrdma/go-rpcrdma/internal/sizeclass"

// free is the length in bytes of a reply that takes no reservation.
const free = 4 << 10

// cost returns how many bytes to reserve for a reply of n bytes: the size of a buffer for it.
func cost(n int) int64 {
	if n <= free {
		return 0
	}
	return 1 << sizeclass.Of(n, 0)
}
