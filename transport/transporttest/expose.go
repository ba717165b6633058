package transporttest

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// anyAccess is the access of memory for every use.
const anyAccess = transport.RemoteRead | transport.RemoteWrite | transport.LocalWrite

// Expose opens a window over the memory in list. The test fails unless ep makes one Region of it.
func Expose(tb testing.TB, ep transport.Endpoint, list []transport.Slice,
	access transport.Access) transport.Region {
	tb.Helper()
	rs, err := ep.Expose(nil, list, access)
	if err != nil || len(rs) != 1 {
		tb.Fatalf("Expose of %d bytes: %d windows, %v", transport.TotalLen(list), len(rs), err)
	}
	return rs[0]
}
