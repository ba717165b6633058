//go:build soak

package crowd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/internal/treemodel"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// station is a server that is restarted repeatedly at its address.
type station struct {
	tb     testing.TB
	open   func() (vfs.FS, func() error) // the file system, and a function that closes it
	addr   string
	rpc    *oncrpc.Server
	close  func() error
	served chan error
	starts int
}

// start starts the server.
func (s *station) start() {
	s.tb.Helper()
	fs, closeFS := s.open()
	nfs, err := nfsserver.New(nfsserver.Config{Logger: quiet, Exports: []nfsserver.Export{
		{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		s.tb.Fatal(err)
	}
	s.rpc = oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	if err := s.rpc.Handle(nfs.Programs()...); err != nil {
		s.tb.Fatal(err)
	}
	var l transport.Listener
	for {
		l, err = iwarp.Listen(context.Background(), s.addr, iwarp.Config{Logger: quiet})
		if !errors.Is(err, syscall.EADDRINUSE) { // used meanwhile by another program's connection
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err != nil {
		s.tb.Fatal(err)
	}
	s.addr, s.close, s.served = l.Addr().String(), closeFS, make(chan error, 1)
	s.starts++
	rpc, served := s.rpc, s.served
	go func() { served <- rpcrdma.Serve(context.Background(), l, rpc, rpcrdma.Config{Logger: quiet}) }()
}

// stop shuts the server down in order: running calls are answered, others are repeated later.
func (s *station) stop() {
	s.tb.Helper()
	if err := s.rpc.Shutdown(context.Background()); err != nil {
		s.tb.Error(err)
	}
	if err := <-s.served; !errors.Is(err, oncrpc.ErrServerClosed) {
		s.tb.Error(err)
	}
	if err := s.close(); err != nil {
		s.tb.Error(err)
	}
}

// client is one of the crowd.
type client struct {
	number int
	fs     *nfsfs.FS
	random *rand.Rand
	model  *treemodel.Model
}

// work takes steps until the time is over.
func (c *client) work(ctx context.Context, until time.Time, steps *atomic.Int64) error {
	files := remote{ctx, c.fs, fmt.Sprint("client", c.number)}
	for n := 0; time.Now().Before(until); n++ {
		if err := c.model.Step(files); err != nil {
			return fmt.Errorf("client %d, step %d: %w", c.number, n, err)
		}
		if n%20 == 0 {
			if err := c.share(ctx, n); err != nil {
				return fmt.Errorf("client %d, step %d, in the directory of all: %w", c.number, n, err)
			}
		}
		steps.Add(1)
	}
	return c.model.Compare(files)
}

// share renames a file into the shared directory, and reads one that is there.
func (c *client) share(ctx context.Context, n int) error {
	data := make([]byte, 1+c.random.IntN(100000))
	for i := range data {
		data[i] = byte(c.random.Uint32())
	}
	sum := sha256.Sum256(data)
	name := path.Join("all", fmt.Sprintf("new-%d-%d", c.number, n))
	file, err := c.fs.OpenFile(ctx, name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(append(sum[:], data...))
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	place := func() string { return path.Join("all", fmt.Sprint("place", c.random.IntN(3))) }
	if err := c.fs.Rename(ctx, name, place()); err != nil {
		return err
	}
	got, err := fs.ReadFile(c.fs.IOFS(ctx), place())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ESTALE):
		return nil // does not exist yet, or was replaced while it was read
	case err != nil:
		return err
	case len(got) < len(sum) || sha256.Sum256(got[len(sum):]) != [32]byte(got[:len(sum)]):
		return fmt.Errorf("a file of %d bytes is not whole", len(got))
	}
	return nil
}

func setting(tb testing.TB, name string, parse func(string) error) {
	tb.Helper()
	if s := os.Getenv(name); s != "" {
		if err := parse(s); err != nil {
			tb.Fatalf("%s: %v", name, err)
		}
	}
}

// testCrowd has clients work on a file system while its server is restarted repeatedly.
func testCrowd(t *testing.T, open func() (vfs.FS, func() error)) {
	clients, long := 8, 3*time.Second
	setting(t, "CROWD_CLIENTS", func(s string) (err error) { clients, err = strconv.Atoi(s); return })
	setting(t, "CROWD_TIME", func(s string) (err error) { long, err = time.ParseDuration(s); return })
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	s := &station{tb: t, open: open, addr: "127.0.0.1:0"}
	s.start()
	addr, ctx := s.addr, t.Context()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{})
	if err != nil {
		t.Fatal(err)
	}
	all := make([]*client, clients)
	var conns []*redial.Conn
	for i := range all {
		conn, err := redial.New(ctx, func(ctx context.Context) (oncrpc.Transport, error) {
			return rpcrdma.Dial(ctx, iwarp.Dialer{Config: iwarp.Config{Logger: quiet}}, addr,
				rpcrdma.Config{Logger: quiet})
		}, redial.Config{Wait: -1, Logger: quiet})
		if err != nil {
			t.Fatal(err)
		}
		conns = append(conns, conn)
		c := nfsclient.New(conn, cred)
		root, err := c.Mount(ctx, "/")
		if err != nil {
			t.Fatal(err)
		}
		number := uint64(i)
		all[i] = &client{i, nfsfs.New(c, root, nfsfs.Config{}), rand.New(rand.NewPCG(seed, number)),
			treemodel.New(seed, number)}
		if err := all[i].fs.Mkdir(ctx, fmt.Sprint("client", i), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := all[0].fs.Mkdir(ctx, "all", 0o777); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(long)
	var steps atomic.Int64
	var work sync.WaitGroup
	for _, c := range all {
		work.Go(func() {
			if err := c.work(ctx, until, &steps); err != nil {
				t.Error(err)
			}
		})
	}
	for pause := long / 10; time.Now().Add(pause).Before(until); {
		time.Sleep(min(pause, 5*time.Second))
		s.stop()
		s.start()
	}
	work.Wait()
	for _, c := range conns {
		c.Close()
		<-c.Done()
	}
	s.stop()
	t.Logf("%d clients, %d steps, %d starts of the server", clients, steps.Load(), s.starts)
}

// TestMemory keeps the file system across restarts of its server.
func TestMemory(t *testing.T) {
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	testCrowd(t, func() (vfs.FS, func() error) { return fs, func() error { return nil } })
}
