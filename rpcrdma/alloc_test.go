//go:build !race

package rpcrdma_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
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

// allocProgram is version 2 of the test program. Its handlers do not allocate.
func allocProgram() oncrpc.Program {
	sink := make([]byte, 1<<20)
	source := make([]byte, 1<<20)
	dst := [][]byte{sink}
	return oncrpc.Program{Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{
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
	}}
}

// allocCall is a call that must not allocate.
type allocCall struct {
	name string
	req  oncrpc.Request
}

// noAllocations makes calls between ends of these configurations, and checks that they allocate
// nothing in the steady state, on either side. It returns the connection.
func noAllocations(t *testing.T, server, cfg rpcrdma.Config, tests []allocCall) *rpcrdma.Conn {
	t.Helper()
	r := newRig(t, server)
	r.server.Handle(allocProgram())
	conn := r.dial(cfg)
	c := oncrpc.NewClient(conn, testProgram, 2, oncrpc.AuthNone())
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
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
	return conn
}

// TestAllocations checks that calls allocate nothing, whichever way they travel.
func TestAllocations(t *testing.T) {
	sink := make([]byte, 1<<20)
	noAllocations(t, rpcrdma.Config{}, rpcrdma.Config{}, []allocCall{
		{"NULL", oncrpc.Request{}},
		{"inline argument", oncrpc.Request{Procedure: 1, Args: &items{data: [][]byte{make([]byte, 1000)}}}},
		{"read chunk", oncrpc.Request{Procedure: 1, Args: &items{data: [][]byte{make([]byte, 1<<20)}}}},
		{"inline result", oncrpc.Request{Procedure: 2, Args: size(1000), Reply: landed(make([]byte, 1000)), Results: [][]byte{make([]byte, 1000)}}},
		{"write chunk", oncrpc.Request{Procedure: 2, Args: size(1 << 20), Reply: landed(sink), Results: [][]byte{sink}}},
		{"reply chunk", oncrpc.Request{Procedure: 2, Args: size(100_000), MaxReply: 100_100, Reply: landed(make([]byte, 100_000))}},
	})
}

// TestAllocationsDraft is about RDMA_MSGP, both ways, into receives of two buffers, and about
// replies that are left to be read, and their RDMA_DONEs.
func TestAllocationsDraft(t *testing.T) {
	padded := rpcrdma.Config{Dialect: rpcrdma.Draft, InlineSend: 20480, InlineRecv: 20480,
		Align: 4096, PeerAlign: 4096}
	reads := rpcrdma.Config{Dialect: rpcrdma.Draft, SegmentSize: 30_000, NoReplyChunks: true}
	long := reads
	long.MinChunk = 1 << 20 // so that the data is not in a chunk of its own
	result := func(n int) []allocCall {
		return []allocCall{{"result", oncrpc.Request{
			Procedure: 2, Args: size(n), MaxReply: 8100, Reply: landed(make([]byte, n)),
		}}}
	}
	for _, tt := range []struct {
		name         string
		server       rpcrdma.Config
		calls        []allocCall
		padded, done uint64 // least
	}{
		{"padded", padded, append(result(8000), allocCall{"argument", oncrpc.Request{
			Procedure: 1, Args: &items{data: [][]byte{make([]byte, 8000)}},
		}}), 600, 0},
		{"bulk data to read", reads, result(100_000), 0, 600},
		{"long", long, result(100_000), 0, 600},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg := tt.server
			cfg.MinChunk = 0
			conn := noAllocations(t, tt.server, cfg, tt.calls)
			if s := conn.Stats(); s.Padded < tt.padded || s.DonesSent < tt.done {
				t.Errorf("the results went another way: %+v", s)
			}
		})
	}
}

type size uint32

func (s size) MarshalXDR(e *xdr.Encoder) { e.Uint32(uint32(s)) }
