//go:build !race

package rpcrdma

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// These tests are not built with the race detector, under which sync.Pool forgets at random.

type landed []byte

func (p landed) UnmarshalXDR(d *xdr.Decoder) {
	d.Uint32()
	d.Uint32()
	d.Bulk(len(p)).CopyTo(p)
	d.Uint32()
}

// TestAllocations checks that calls allocate nothing in the steady state, on either side, whichever way they
// travel. The test program's own allocations are known.
func TestAllocations(t *testing.T) {
	r := newRig(t, Config{})
	sink := make([]byte, 1<<20)
	source := make([]byte, 1<<20)
	dst := [][]byte{sink}
	r.server.Handle(oncrpc.Program{Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{
		1: {Name: "TAKE", NonBlocking: true, Handler: func(ctx context.Context, c *oncrpc.Call) error {
			c.Args.Uint32()
			c.Args.Uint32()
			return c.Args.Bulk(len(sink)).FetchInto(ctx, dst)
		}},
		2: {Name: "GIVE", NonBlocking: true, Handler: func(_ context.Context, c *oncrpc.Call) error {
			c.Results.Uint32(1)
			c.Results.Uint32(0)
			c.Results.BulkBytes(source[:c.Args.Uint32()], nil)
			c.Results.Uint32(0)
			return nil
		}},
	}})
	conn := r.dial(Config{})
	c := oncrpc.NewClient(conn, testProgram, 2, oncrpc.AuthNone())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	tests := []struct {
		name string
		req  oncrpc.Request
	}{
		{"NULL", oncrpc.Request{}},
		{"inline argument", oncrpc.Request{Procedure: 1, Args: &items{data: [][]byte{make([]byte, 1000)}}}},
		{"read chunk", oncrpc.Request{Procedure: 1, Args: &items{data: [][]byte{make([]byte, 1<<20)}}}},
		{"inline result", oncrpc.Request{Procedure: 2, Args: size(1000), Reply: landed(make([]byte, 1000)), Results: [][]byte{make([]byte, 1000)}}},
		{"write chunk", oncrpc.Request{Procedure: 2, Args: size(1 << 20), Reply: landed(sink), Results: [][]byte{sink}}},
		{"reply chunk", oncrpc.Request{Procedure: 2, Args: size(100_000), MaxReply: 100_100, Reply: landed(make([]byte, 100_000))}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			call := func() {
				if err := c.Do(ctx, &tt.req); err != nil {
					t.Fatal(err)
				}
			}
			for range 100 { // the pools fill
				call()
			}
			if n := testing.AllocsPerRun(500, call); n >= 1 {
				t.Errorf("%v allocations a call", n)
			}
		})
	}
}

type size uint32

func (s size) MarshalXDR(e *xdr.Encoder) { e.Uint32(uint32(s)) }
