package oncrpc_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// overSlimTCP is overTCP for clients with one call under way.
func overSlimTCP(t *testing.T, s *oncrpc.Server) func(context.Context) (oncrpc.Transport, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	serves(t, s, func() error { return recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: quiet}) })
	return func(ctx context.Context) (oncrpc.Transport, error) {
		return recordmark.Dial(ctx, l.Addr().String(), recordmark.Config{MaxCalls: 1, Logger: quiet})
	}
}

// A call waits behind the only credit when the connection ends. The call before it fails, as it may
// have been executed. This one says that it was not sent; package redial sends it, and it runs
// once.
func TestUnsent(t *testing.T) {
	for name, over := range map[string]carrier{"TCP": overSlimTCP, "RDMA": overIWARP} {
		for _, redials := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", redial"}[redials], func(t *testing.T) {
				var n counter
				conns := make(chan oncrpc.Transport, 1)
				s := newServer(t, oncrpc.ServerConfig{},
					oncrpc.Procedure{Handler: func(ctx context.Context, c *oncrpc.Call) error {
						conns <- c.Conn
						<-ctx.Done()
						return ctx.Err()
					}},
					oncrpc.Procedure{Handler: n.handle})
				dial := over(t, s)
				conn, err := dial(t.Context())
				if redials {
					conn.Close()
					conn, err = redial.New(t.Context(), dial, redial.Config{Wait: time.Minute, Logger: quiet})
				}
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					conn.Close()
					<-conn.Done()
				})
				c := oncrpc.NewClient(conn, testProgram, testVersion, nil)
				first, second := make(chan error, 1), make(chan error, 1)
				go func() { first <- c.Call(t.Context(), 1, nil, nil) }()
				at := hang.Receive(t, "the first call", conns)
				r := oncrpc.Request{Procedure: 2, Reply: new(word)}
				go func() { second <- c.Do(t.Context(), &r) }()
				hang.Until(t, "the second call waits", func() bool {
					_, _, waiting := conn.(oncrpc.CreditReporter).Credits()
					return waiting == 1
				})
				at.Close()
				if err := hang.Receive(t, "the end of the first call", first); err == nil ||
					errors.Is(err, oncrpc.ErrNotSent) {
					t.Errorf("the first call: %v", err)
				}
				err = hang.Receive(t, "the end of the second call", second)
				if want := map[bool]uint32{true: 1}[redials]; n.Load() != want || r.Repeated {
					t.Errorf("%d executions, want %d; repeated %t", n.Load(), want, r.Repeated)
				}
				if !redials && !errors.Is(err, oncrpc.ErrNotSent) || redials && err != nil {
					t.Errorf("the second call: %v", err)
				}
			})
		}
	}
}
