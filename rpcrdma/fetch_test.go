package rpcrdma_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// oneProcedure is a version of the test program with procedure 1 alone.
func oneProcedure(version uint32, handler oncrpc.Handler) oncrpc.Program {
	return oncrpc.Program{
		Number: testProgram, Version: version, Procedures: []oncrpc.Procedure{1: {Handler: handler}},
	}
}

// importLog is an endpoint that notes the lengths of what is imported for an RDMA Read.
type importLog struct {
	transport.Endpoint
	lengths *[]int
}

func (e importLog) Unwrap() transport.Endpoint { return e.Endpoint }

func (e importLog) Domain() transport.Domain {
	return loggedDomain{e.Endpoint.Domain(), e.lengths}
}

type loggedDomain struct {
	transport.Domain
	lengths *[]int
}

func (d loggedDomain) Import(p []byte, access transport.Access) (transport.Slice, error) {
	if access == transport.LocalWrite {
		*d.lengths = append(*d.lengths, len(p))
	}
	return d.Domain.(transport.Importer).Import(p, access)
}

func (d loggedDomain) Release(s transport.Slice) { d.Domain.(transport.Importer).Release(s) }

// TestFetchInto: a handler fetches data into pieces of memory that have more room. What is beyond
// the data is not touched, nor imported.
func TestFetchInto(t *testing.T) {
	data := pattern(1, 9000)
	for _, tt := range []struct{ pieces, imports []int }{
		{[]int{9000}, []int{9000}},
		{[]int{3000, 5000, 4000, 1}, []int{3000, 5000, 1000}},
		{[]int{0, 8999, 0, 1, 0}, []int{8999, 1}},
	} {
		for _, imports := range []bool{true, false} {
			t.Run(fmt.Sprintf("imported %v/%v", imports, tt.pieces), func(t *testing.T) {
				var lengths []int
				wrap := func(ep transport.Endpoint) transport.Endpoint {
					return importLog{ep, &lengths}
				}
				if !imports {
					wrap = withoutAbilities
				}
				r := newRigOn(t, rpcrdma.Config{}, loopback.Config{}, wrap)
				var pieces [][]byte
				want := slices.Clone(data)
				for _, n := range tt.pieces {
					pieces = append(pieces, make([]byte, n))
				}
				r.server.Handle(oneProcedure(2, func(ctx context.Context, c *oncrpc.Call) error {
					c.Args.Uint32()
					c.Args.Uint32()
					return c.Args.Bulk(len(data)).FetchInto(ctx, pieces)
				}))
				c := oncrpc.NewClient(r.dial(rpcrdma.Config{}), testProgram, 2, nil)
				if err := c.Call(t.Context(), 1, &items{data: [][]byte{data}}, nil); err != nil {
					t.Fatal(err)
				}
				got := bytes.Join(pieces, nil)
				if want = append(want, make([]byte, len(got)-len(data))...); !bytes.Equal(got, want) {
					t.Error("what was fetched differs")
				}
				if imports && !slices.Equal(lengths, tt.imports) {
					t.Errorf("imported %d bytes, want %d", lengths, tt.imports)
				}
			})
		}
	}
}
