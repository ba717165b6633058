package gss_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/gsstest"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

type echo struct{ data, into []byte }

func (b *echo) MarshalXDR(e *xdr.Encoder) {
	e.Uint32(7)
	e.BulkBytes(b.data, nil)
	e.Uint32(8)
}

func (b *echo) UnmarshalXDR(d *xdr.Decoder) {
	before := d.Uint32()
	b.data = d.BulkInto(b.into)
	if d.Uint32() != 8 || before != 7 {
		d.Fail(xdr.ErrValue)
	}
}

func echoes(ctx context.Context, c *oncrpc.Call) error {
	c.Results.Uint32(c.Args.Uint32())
	data, err := c.Args.Bulk(4 << 20).Bytes(ctx)
	if err != nil {
		return err
	}
	c.Results.BulkBytes(data, nil)
	c.Results.Uint32(c.Args.Uint32())
	return c.Args.Finish()
}

func TestServices(t *testing.T) {
	for name, m := range map[string]*gsstest.Mechanism{
		"one round":    {Secret: []byte("secret")},
		"three rounds": {Secret: []byte("secret"), Rounds: 3, TokenLen: 5000},
		"one way":      {Secret: []byte("secret"), OneWay: true},
		"two one way":  {Secret: []byte("secret"), OneWay: true, Rounds: 2},
	} {
		for _, service := range []gss.Service{gss.None, gss.Integrity, gss.Privacy} {
			for _, carrier := range []string{"TCP", "RDMA"} {
				t.Run(fmt.Sprintf("%s/%v/%s", name, service, carrier), func(t *testing.T) {
					sf := gss.NewServerFlavor(gss.ServerConfig{Acceptor: m.Acceptor(), Logger: quiet})
					s := oncrpc.NewServer(oncrpc.ServerConfig{Flavors: []oncrpc.ServerFlavor{sf}, Logger: quiet})
					s.Handle(oncrpc.Program{Number: 400000, Version: 1, Procedures: []oncrpc.Procedure{1: {Handler: func(ctx context.Context, c *oncrpc.Call) error {
						id := c.Identity().(*gss.Caller)
						if id.Principal != "alice@TEST" || id.Service != service {
							t.Errorf("caller %+v", id)
						}
						return echoes(ctx, c)
					}}}})
					var conn oncrpc.Transport
					served := make(chan error, 1)
					if carrier == "TCP" {
						l, _ := net.Listen("tcp", "127.0.0.1:0")
						go func() { served <- recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: quiet}) }()
						conn, _ = recordmark.Dial(t.Context(), l.Addr().String(), recordmark.Config{EnforceMaxReply: true, Logger: quiet})
					} else {
						f := loopback.New()
						l, _ := f.Listen("server", loopback.Config{})
						go func() { served <- rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{Logger: quiet}) }()
						conn, _ = rpcrdma.Dial(t.Context(), f.Dialer(loopback.Config{}), "server", rpcrdma.Config{Logger: quiet})
					}
					defer func() { conn.Close(); <-conn.Done(); s.Close(); <-served }()
					cf := gss.NewClientFlavor(gss.ClientConfig{Initiator: m.Initiator("alice@TEST"), Target: "test@server", Service: service})
					c := oncrpc.NewClient(conn, 400000, 1, cf)
					for _, size := range []int{0, 5, 1000, 5000, 100_001, 1 << 20} {
						into := make([]byte, size)
						args, res := &echo{data: bytes.Repeat([]byte{byte(size), 1}, size)[:size]}, &echo{into: into}
						if err := c.Do(t.Context(), &oncrpc.Request{Procedure: 1, Args: args, Reply: res, MaxReply: 12, Results: [][]byte{into}}); err != nil {
							t.Fatalf("%d bytes: %v", size, err)
						}
						if !bytes.Equal(res.data, args.data) {
							t.Errorf("%d bytes came back as %d others", size, len(res.data))
						}
					}
					var accept *oncrpc.AcceptError
					if err := c.Call(t.Context(), 9, nil, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.ProcUnavail {
						t.Errorf("procedure 9: %v, want PROC_UNAVAIL", err)
					}
					if err := cf.Close(t.Context(), c); err != nil {
						t.Error(err)
					}
					if got := sf.Stats(); got != (gss.ServerStats{Made: 1, Destroyed: 1}) {
						t.Errorf("%+v", got)
					}
				})
			}
		}
	}
}
