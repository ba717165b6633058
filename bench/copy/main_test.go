package copy

import (
	"fmt"
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// TestMain lets the test binary also be an end of the raw TCP connection.
func TestMain(m *testing.M) {
	if role := host.Role(); role != "" {
		if err := transfer(role, os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, role+":", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
