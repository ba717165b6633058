package rpcrdma

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

type blob struct{ p []byte }

func (b *blob) MarshalXDR(e *xdr.Encoder)   { e.BulkBytes(b.p, nil) }
func (b *blob) UnmarshalXDR(d *xdr.Decoder) { b.p = b.p[:d.Bulk(1 << 30).CopyTo(b.p)] }

func TestSmoke(t *testing.T) {
	f := loopback.New()
	l, err := f.Listen("srv", loopback.Config{})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(oncrpc.Program{Number: 400000, Version: 1, Procedures: []oncrpc.Procedure{1: {Name: "ECHO", Handler: func(ctx context.Context, c *oncrpc.Call) error {
		p, err := c.Args.Bulk(1 << 30).Bytes(ctx)
		if err != nil {
			return err
		}
		c.Results.BulkBytes(p, nil)
		return nil
	}}}})
	served := make(chan error)
	go func() { served <- Serve(context.Background(), l, srv, Config{}) }()
	c, err := Dial(context.Background(), f.Dialer(loopback.Config{}), "srv", Config{})
	if err != nil {
		t.Fatal(err)
	}
	cl := oncrpc.NewClient(c, 400000, 1, oncrpc.AuthNone())
	for _, n := range []int{0, 1, 3, 4, 1000, 3900, 5000, 100001, 1 << 20} {
		for _, land := range []bool{true, false} {
			t.Run(fmt.Sprint(n, land), func(t *testing.T) {
				p := make([]byte, n)
				rand.Read(p)
				q := make([]byte, n)
				req := oncrpc.Request{Procedure: 1, Args: &blob{p}, Reply: &blob{q}}
				if land {
					req.Results = [][]byte{q}
				} else {
					req.MaxReply = n + 8
				}
				if err := cl.Do(context.Background(), &req); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(p, q) {
					t.Error("differs")
				}
			})
		}
	}
	t.Log(c.Stats())
	c.Close()
	srv.Shutdown(context.Background())
	t.Log(<-served)
}
