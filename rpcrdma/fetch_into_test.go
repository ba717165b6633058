package rpcrdma_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// importLog is an endpoint that notes the lengths of what is imported for an RDMA Read.
type importLog struct {
	transport.Endpoint
	lengths *[]int
}

func (e importLog) Unwrap() transport.Endpoint { return e.Endpoint }
func (e importLog) Domain() transport.Domain   { return loggedDomain{e.Endpoint.Domain(), e.lengths} }

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
	for _, tt := range []struct {
		name    string
		pieces  []int
		imports []int
	}{
		{"one", []int{9000}, []int{9000}},
		{"one with room", []int{9001}, []int{9000}},
		{"several", []int{3000, 5000, 1000}, []int{3000, 5000, 1000}},
		{"several with room", []int{3000, 5000, 4000, 1}, []int{3000, 5000, 1000}},
		{"empty ones", []int{0, 8999, 0, 1, 0}, []int{8999, 1}},
	} {
		for _, imports := range []bool{true, false} {
			t.Run(map[bool]string{true: "imported/", false: "copied/"}[imports]+tt.name, func(t *testing.T) {
				var lengths []int
				wrap := withoutAbilities
				if imports {
					wrap = func(ep transport.Endpoint) transport.Endpoint { return importLog{ep, &lengths} }
				}
				r := newRigOn(t, rpcrdma.Config{}, loopback.Config{}, wrap)
				var all []byte
				handler := func(ctx context.Context, c *oncrpc.Call) error {
					c.Args.Uint32()
					c.Args.Uint32()
					b := c.Args.Bulk(len(data))
					var pieces [][]byte
					for _, n := range tt.pieces {
						pieces = append(pieces, bytes.Repeat([]byte{0xee}, n))
					}
					err := b.FetchInto(ctx, pieces)
					all = bytes.Join(pieces, nil)
					return err
				}
				r.server.Handle(oncrpc.Program{
					Number: testProgram, Version: 2, Procedures: []oncrpc.Procedure{1: {Handler: handler}},
				})
				c := oncrpc.NewClient(r.dial(rpcrdma.Config{}), testProgram, 2, nil)
				if err := c.Call(t.Context(), 1, &items{data: [][]byte{data}}, nil); err != nil {
					t.Fatal(err)
				}
				room := len(all) - len(data)
				if !bytes.Equal(all, append(data[:len(data):len(data)], bytes.Repeat([]byte{0xee}, room)...)) {
					t.Error("what was fetched differs")
				}
				if imports && !slices.Equal(lengths, tt.imports) {
					t.Errorf("imported %d bytes, want %d", lengths, tt.imports)
				}
			})
		}
	}
}
