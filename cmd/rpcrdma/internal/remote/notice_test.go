package remote

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// TestNotices: the user is told once that a server is gone, and that it is back.
func TestNotices(t *testing.T) {
	var b strings.Builder
	n := notices{out: &b, from: "rdma://host", wait: 1e9}
	gone := errors.New("gone")
	n.failed(gone) // the first connection: that is said by others
	n.connected()
	n.connected()
	n.failed(gone)
	n.failed(gone)
	n.connected()
	n.connected()
	n.failed(io.EOF)
	const want = "rpcrdma: rdma://host does not respond; waiting for up to 1s: gone\n" +
		"rpcrdma: rdma://host is back\n" +
		"rpcrdma: rdma://host does not respond; waiting for up to 1s: EOF\n"
	if got := b.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
