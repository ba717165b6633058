package budget

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/fair"
	"github.com/rpcrdma/go-rpcrdma/internal/indexheap"
	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// host is a host's part in a Budget. It exists while the host has a connection or memory.
type host[T any] struct {
	budget *Budget[T]
	name   peerhost.Host
	has    atomic.Int64 // bytes
	conns  atomic.Int32 // changed with Budget.mu held

	// Budget.mu guards these. Budget.update sets them.
	starved indexheap.Heap[*element[T]]
	had     int64  // bytes that the host had when last looked at
	need    int64  // bytes that its next request needs
	arrival uint64 // when that request came
	place   int    // in Budget.starved
	lenders list.List[Share[T]]
	lending list.Place[host[T]] // in Budget.lending
}

// Before reports whether a host is served before another one.
//
// Hosts that have nothing come first, in order of arrival. What becomes free is kept until it
// suffices for the first of them. Among other hosts, the one that needs the least free memory
// (fair.Fits) comes first. So if its request does not fit, no other does. If two hosts need the
// same, the request that came first decides.
func (h *host[T]) Before(o *host[T]) bool {
	if h.had == 0 || o.had == 0 {
		return h.had == 0 && (o.had > 0 || h.arrival < o.arrival)
	}
	if h, o := h.had+2*h.need, o.had+2*o.need; h != o {
		return h < o
	}
	return h.arrival < o.arrival
}

// Place is for indexheap.
func (h *host[T]) Place() *int { return &h.place }

// fits reports whether the host may have n bytes more while free bytes are free. If nobody has any,
// these may be more than there are.
func (h *host[T]) fits(free, n int64) bool {
	has := h.has.Load()
	return fair.Fits(free, has, n) || has == 0 && free >= h.budget.size
}

// take takes n bytes for the host if they fit, and reports whether it did.
func (h *host[T]) take(n int64) bool {
	for {
		free := h.budget.free.Load()
		if !h.fits(free, n) {
			return false
		}
		if h.budget.free.CompareAndSwap(free, free-n) {
			h.has.Add(n)
			return true
		}
	}
}
