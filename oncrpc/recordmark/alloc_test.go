package recordmark_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// A call does not allocate at either end.
func TestAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("pools lose things on purpose under the race detector")
	}
	c := benchClient(t)
	ctx := context.Background()
	buf, n, got := make(data, 100_000), &count{100_000}, &count{}
	for _, tt := range []struct {
		name string
		req  oncrpc.Request
	}{
		{"NULL", oncrpc.Request{Procedure: procNull}},
		{"READ", oncrpc.Request{Procedure: procRead, Args: n, Reply: buf}},
		{"WRITE", oncrpc.Request{Procedure: procWrite, Args: buf, Reply: got}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if n := testing.AllocsPerRun(500, func() {
				if err := c.Do(ctx, &tt.req); err != nil {
					t.Fatal(err)
				}
			}); n > 0 {
				t.Errorf("%v allocations a call, want none", n)
			}
		})
	}
}
