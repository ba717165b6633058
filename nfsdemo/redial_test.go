package nfsdemo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/soak"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// callers is the number of concurrent calls.
const callers = 64

// once are calls that must not be executed twice: a second execution fails.
var once = []struct {
	proc nfs3.Proc
	do   func(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error
}{
	{nfs3.ProcCreate, func(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error {
		_, err := c.Create(ctx, dir, "new", nfs3.CreateHow{Mode: nfs3.Guarded})
		return err
	}},
	{nfs3.ProcMkdir, func(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error {
		_, err := c.Mkdir(ctx, dir, "new", nfs3.Sattr{})
		return err
	}},
	{nfs3.ProcSymlink, func(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error {
		_, err := c.Symlink(ctx, dir, "new", long, nfs3.Sattr{}) // by a read chunk
		return err
	}},
	{nfs3.ProcRemove, func(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error { return c.Remove(ctx, dir, "file") }},
	{nfs3.ProcRmdir, func(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error { return c.Rmdir(ctx, dir, "dir") }},
	{nfs3.ProcRename, func(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error {
		return c.Rename(ctx, dir, "file", dir, "new")
	}},
	{nfs3.ProcLink, func(ctx context.Context, c *nfsclient.Client, dir nfs3.FH) error {
		o, err := c.Lookup(ctx, dir, "file")
		if err == nil {
			_, err = c.Link(ctx, o.File, dir, "new")
		}
		return err
	}},
}

// TestRedialOnce: a call whose connection is cut during its execution, or before its reply has
// left, is sent again. The server recognizes the XID: the call is executed once, and the caller
// gets the reply of that execution.
func TestRedialOnce(t *testing.T) {
	for name, by := range carriers(t) {
		for _, when := range []string{"before", "after"} {
			t.Run(name+" "+when, func(t *testing.T) {
				var s *restartableServer
				var armed atomic.Uint32 // cut the connection at the next call of this procedure
				var entered, executed atomic.Int32
				s = newRestartableServer(t, by, func(p nfs3.Proc, h oncrpc.Handler) oncrpc.Handler {
					return func(ctx context.Context, c *oncrpc.Call) error {
						if p == nfs3.ProcNull || p != nfs3.Proc(armed.Load()) {
							return h(ctx, c)
						}
						first := entered.Add(1) == 1
						if first && when == "before" {
							s.cut()
						}
						err := h(ctx, c)
						if err == nil { // else its arguments were lost
							executed.Add(1)
						}
						if first && when == "after" {
							s.cut()
						}
						return err
					}
				})
				for _, tt := range once {
					armed.Store(0)
					_, c, dir := s.connect(redial.Config{Wait: time.Minute})
					sub, err := c.Mkdir(t.Context(), dir, tt.proc.String(), nfs3.Sattr{})
					if err != nil {
						t.Fatal(err)
					}
					if _, err := c.Create(t.Context(), sub.File, "file", nfs3.CreateHow{}); err != nil {
						t.Fatal(err)
					}
					if _, err := c.Mkdir(t.Context(), sub.File, "dir", nfs3.Sattr{}); err != nil {
						t.Fatal(err)
					}
					entered.Store(0)
					executed.Store(0)
					armed.Store(uint32(tt.proc))
					before := s.dialled()
					if err := tt.do(t.Context(), c, sub.File); err != nil {
						t.Errorf("%v: %v", tt.proc, err)
					}
					if executed.Load() != 1 || s.dialled() != before+1 {
						t.Errorf("%v: executed %d times, over %d connections, want once, over 2",
							tt.proc, executed.Load(), s.dialled()-before+1)
					}
				}
			})
		}
	}
}

// TestRedialCut: connections are cut while many calls that must not be executed twice are under
// way. Nothing fails.
func TestRedialCut(t *testing.T) {
	for name, by := range carriers(t) {
		t.Run(name, func(t *testing.T) {
			var s *restartableServer
			var calls atomic.Int32
			s = newRestartableServer(t, by, func(p nfs3.Proc, h oncrpc.Handler) oncrpc.Handler {
				return func(ctx context.Context, c *oncrpc.Call) error {
					switch calls.Add(1) {
					case 200, 400, 600:
						defer s.cut()
					}
					return h(ctx, c)
				}
			})
			_, c, dir := s.connect(redial.Config{Wait: time.Minute})
			ctx := t.Context()
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					for j := range 5 {
						name, other := fmt.Sprint(i, "-", j), fmt.Sprint(i, "=", j)
						_, err := c.Create(ctx, dir, name, nfs3.CreateHow{Mode: nfs3.Guarded})
						if err == nil {
							err = c.Rename(ctx, dir, name, dir, other)
						}
						if err == nil && j > 0 {
							err = c.Remove(ctx, dir, other)
						}
						if err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			left := 0
			for _, err := range c.ReadDir(ctx, dir) {
				if err != nil {
					t.Fatal(err)
				}
				left++
			}
			if left != callers {
				t.Errorf("%d files are left, want %d", left, callers)
			}
			if n := s.dialled(); n < 2 {
				t.Errorf("%d connections, want more",
					n) // not n for n cuts: a cut may hit a dead connection
			}
		})
	}
}

// TestRedialRestart: reads and writes continue when the server is restarted, and no data is lost or
// mixed up.
func TestRedialRestart(t *testing.T) {
	const size = 20_000 // of a block in bytes: goes by chunks
	rounds := soak.Amount(4, 6)
	for name, by := range carriers(t) {
		for _, conns := range []int{1, 3} {
			t.Run(fmt.Sprint(name, conns), func(t *testing.T) {
				const most = 200 // calls executed before the server is stopped
				var calls, stops atomic.Int32
				full := make(chan struct{})
				s := newRestartableServer(t, by, func(p nfs3.Proc, h oncrpc.Handler) oncrpc.Handler {
					return func(ctx context.Context, c *oncrpc.Call) error {
						if n := calls.Add(1); n >= most && stops.Load() < 2 {
							if n == most {
								full <- struct{}{}
							}
							<-ctx.Done()
							return ctx.Err()
						}
						return h(ctx, c)
					}
				})
				_, c, dir := s.connect(redial.Config{Wait: time.Minute, Conns: conns})
				ctx := t.Context()
				o, err := c.Create(ctx, dir, "file", nfs3.CreateHow{})
				if err != nil {
					t.Fatal(err)
				}
				var wg sync.WaitGroup
				for i := range callers {
					wg.Go(func() {
						got := make([]byte, size)
						for round := range rounds {
							want := bytes.Repeat([]byte{byte(i), byte(round), byte(i >> 8), 0xa5},
								size/4)
							if w, err := c.Write(ctx, o.File, uint64(i*size), want, nfs3.FileSync); err != nil || w.N != size {
								t.Errorf("%d bytes written, %v", w.N, err)
								return
							}
							clear(got)
							if r, err := c.Read(ctx, o.File, uint64(i*size), got); err != nil || r.N != size || !bytes.Equal(got, want) {
								t.Errorf("%d bytes read, %v, the same as written: %v", r.N, err,
									bytes.Equal(got, want))
								return
							}
						}
					})
				}
				for range 2 {
					<-full
					s.stop()
					stops.Add(1)
					calls.Store(0)
					s.start()
				}
				wg.Wait()
				if n := s.dialled(); n < 3 {
					t.Errorf("%d connections, want at least one for each start of the server", n)
				}
			})
		}
	}
}

// TestRedialStall: a server that does not answer for long is taken for dead, and the call is
// answered over another connection.
func TestRedialStall(t *testing.T) {
	for name, by := range carriers(t) {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int32
			s := newRestartableServer(t, by, func(p nfs3.Proc, h oncrpc.Handler) oncrpc.Handler {
				return func(ctx context.Context, c *oncrpc.Call) error {
					if p == nfs3.ProcRead && calls.Add(1) == 1 {
						<-ctx.Done() // of the connection
						return ctx.Err()
					}
					return h(ctx, c)
				}
			})
			_, c, dir := s.connect(redial.Config{Wait: time.Minute, Stall: 200 * time.Millisecond})
			o, err := c.Create(t.Context(), dir, "file", nfs3.CreateHow{})
			if err != nil {
				t.Fatal(err)
			}
			want := pattern(100_000)
			if _, err := c.Write(t.Context(), o.File, 0, want, nfs3.Unstable); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(want))
			if _, err := c.Read(t.Context(), o.File, 0, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%v, the same as written: %v", err, bytes.Equal(got, want))
			}
			if n := calls.Load(); n < 2 { // or more, while this machine is too busy to answer
				t.Errorf("%d READs, want 2", n)
			}
		})
	}
}

// TestRedialClose: Close, and the end of a context, end calls under way and calls waiting for the
// server.
func TestRedialClose(t *testing.T) {
	for name, by := range carriers(t) {
		for _, away := range []bool{false, true} {
			for _, how := range []string{"close", "context"} {
				t.Run(fmt.Sprint(name, " ", how, " away ", away), func(t *testing.T) {
					entered := make(chan struct{}, callers)
					s := newRestartableServer(t, by, func(p nfs3.Proc, h oncrpc.Handler) oncrpc.Handler {
						return func(ctx context.Context, c *oncrpc.Call) error {
							if p == nfs3.ProcWrite {
								entered <- struct{}{}
								<-ctx.Done()
							}
							return h(ctx, c)
						}
					})
					conn, c, dir := s.connect(redial.Config{Wait: time.Hour, Conns: 2})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					returned := make(chan error, callers)
					for range callers {
						go func() {
							data := pattern(9000)
							_, err := c.Write(ctx, dir, 0, data, nfs3.Unstable)
							clear(data) // nobody reads it any more
							returned <- err
						}()
					}
					for range callers / 2 { // the others wait for credits
						<-entered
					}
					if away {
						s.stop()
					}
					want := net.ErrClosed
					if how == "close" {
						conn.Close()
					} else {
						want = context.Canceled
						cancel()
					}
					for range callers {
						if err := <-returned; !errors.Is(err, want) {
							t.Errorf("got %v, want %v", err, want)
						}
					}
				})
			}
		}
	}
}
