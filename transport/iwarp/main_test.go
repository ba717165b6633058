package iwarp_test

import (
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

func TestMain(m *testing.M) {
	paired.Main() // does not return in a child of a benchmark
	os.Exit(m.Run())
}
