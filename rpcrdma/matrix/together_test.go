package matrix

import (
	"context"
	"errors"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestTogether runs all cells of one configuration on one connection, with fewer credits than
// calls. They do not disturb each other.
func TestTogether(t *testing.T) {
	for _, cells := range Groups() {
		if len(cells) < credits {
			continue
		}
		t.Run(cells[0].Name+" and others", func(t *testing.T) {
			t.Parallel()
			everywhere(t, dialects, func(t *testing.T, d rpcrdma.Dialect, tap *tap, l transport.Listener, dial transport.Dialer) {
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				s := NewServer(cells...)
				served := make(chan error, 1)
				go func() { served <- rpcrdma.Serve(ctx, l, s.Server, Config(cells[0].Server, d)) }()
				defer func() {
					s.Close()
					if err := errors.Join(<-served, s.Err()); !errors.Is(err, oncrpc.ErrServerClosed) {
						t.Error(err)
					}
				}()
				conn, err := rpcrdma.Dial(ctx, dial, l.Addr().String(), Config(cells[0].Client, d))
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					conn.Close()
					hang.Receive(t, "the end of the connection", conn.Done())
				}()
				var g errgroup.Group
				g.SetLimit(3 * credits)
				for i, c := range cells {
					g.Go(func() error {
						c.compareError(t, c.Dialect(d), c.Call(ctx, conn, uint32(i+1)))
						return nil
					})
				}
				g.Wait()
				if err := cells[0].null(ctx, conn); err != nil {
					t.Fatal(err)
				}
				a := newAudit(d, cells[0].Client, cells[0].Server)
				if err := a.run(tap.events()); err != nil {
					t.Error(err)
				}
				if n := len(a.exchanges); n != len(cells)+1 {
					t.Errorf("%d calls, want %d", n, len(cells)+1)
				}
				for _, x := range a.exchanges {
					if x.proc > 0 {
						c := cells[x.proc-1]
						c.compare(t, c.Dialect(d), x, x.proc)
					}
				}
			})
		})
	}
}
