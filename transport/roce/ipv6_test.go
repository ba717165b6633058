package roce_test

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

// TestConformanceIPv6 runs the suite over IPv6, if no other process has the port at the only IPv6
// loopback address.
func TestConformanceIPv6(t *testing.T) {
	l, err := roce.Listen(t.Context(), "[::1]:0", roce.Config{Logger: quiet})
	if err != nil {
		t.Skip(err)
	}
	defer l.Close() // keeps the port
	transporttest.Run(t, factory("[::1]:0", roce.Config{}))
}
