package recordmark_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

type blob struct{ p []byte }

func (b *blob) MarshalXDR(e *xdr.Encoder)   { e.BulkBytes(b.p, nil) }
func (b *blob) UnmarshalXDR(d *xdr.Decoder) { b.p = d.BulkInto(b.p) }

// Many handlers at once return their bulk arguments by reference. The arguments stay valid until
// the reply is sent.
func TestReplyRefersToArguments(t *testing.T) {
	const program, callers, rounds, size = 400_002, 16, 20, 200_000
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	defer srv.Close()
	srv.Handle(oncrpc.Program{Number: program, Version: 1, Procedures: []oncrpc.Procedure{1: {Handler: func(ctx context.Context, c *oncrpc.Call) error {
		p, err := c.Args.Bulk(size).Bytes(ctx)
		if err == nil {
			c.Results.BulkBytes(p, nil)
		}
		return err
	}}}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(t.Context(), l, srv, recordmark.Config{}) }()
	conn, err := recordmark.Dial(t.Context(), l.Addr().String(), recordmark.Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := oncrpc.NewClient(conn, program, 1, oncrpc.AuthNone())
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			want := bytes.Repeat([]byte{byte(i + 1)}, size)
			for range rounds {
				reply := blob{make([]byte, size)}
				if err := c.Do(t.Context(), &oncrpc.Request{Procedure: 1, Args: &blob{want}, Reply: &reply, MaxReply: size + 4}); err != nil {
					t.Error(err)
					return
				}
				if !bytes.Equal(reply.p, want) {
					t.Error("got somebody else's data")
					return
				}
			}
		})
	}
	hang.Wait(t, "the callers", &wg)
	conn.Close()
	srv.Shutdown(t.Context())
	if err := hang.Receive(t, "the end of Serve", served); !errors.Is(err, oncrpc.ErrServerClosed) {
		t.Error(err)
	}
}

// A call longer than the peer accepts is refused before it is sent.
func TestCallTooLong(t *testing.T) {
	a, b := pipe(t, recordmark.Config{MaxRecord: 4096}, recordmark.Config{})
	b.Serve(server(t, echo))
	x := exchange(make([]byte, 5000))
	var tooLong *oncrpc.CallTooLongError
	want := oncrpc.CallTooLongError{Len: 5044, Max: 4096}
	if err := a.RoundTrip(t.Context(), x); !errors.As(err, &tooLong) || *tooLong != want {
		t.Errorf("call of 5000 bytes: %v", err)
	}
	if err := a.Err(); err != nil {
		t.Errorf("connection ended: %v", err)
	}
}
