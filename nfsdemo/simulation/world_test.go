package simulation

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

const (
	serverAddr = "10.0.0.1:20049"
	stall      = 8 * time.Second // of redial
)

var quiet = slog.New(slog.NewTextHandler(io.Discard, nil))

// world is a server, its clients, and the network between them.
type world struct {
	t        *testing.T
	net      *faultnet.Memory
	work     *faultnet.Provider
	counters faultnet.Counters
	dialect  rpcrdma.Dialect
	fs       *lossyFS

	mu     sync.Mutex // guards what follows
	server *oncrpc.Server
	served chan error
	starts int
}

func newWorld(t *testing.T, seed uint64, dialect rpcrdma.Dialect) *world {
	w := &world{t: t, dialect: dialect}
	w.net = faultnet.NewMemory(faultnet.Config{
		Seed: seed, Counters: &w.counters,
		Up:   faultnet.Way{Delay: time.Millisecond},
		Down: faultnet.Way{Delay: time.Millisecond},
	})
	w.work = faultnet.NewProvider(faultnet.ProviderConfig{Seed: seed, Counters: &w.counters})
	fs, err := memfs.New(memfs.Config{RootMode: 0o777})
	if err != nil {
		t.Fatal(err)
	}
	w.fs = &lossyFS{FS: fs}
	w.start()
	return w
}

func provider() iwarp.Config { return iwarp.Config{Logger: quiet, NudgeAfter: -1} }

// start starts the server.
func (w *world) start() {
	w.t.Helper()
	below, err := w.net.Listen(serverAddr)
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := iwarp.NewListener(below, provider())
	if err != nil {
		w.t.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{
		Exports: []nfsserver.Export{{Path: "/", FS: w.fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}, Logger: quiet,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	s := oncrpc.NewServer(oncrpc.ServerConfig{
		Logger: quiet, MaxConcurrent: 8,
		ConnEnded: func(t oncrpc.Transport, _ error) { checkPeer(w.t, t.(*rpcrdma.Conn), w.dialect) },
	})
	if err := s.Handle(nfs.Programs()...); err != nil {
		w.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() {
		served <- rpcrdma.Serve(context.Background(), w.work.Listener(l), s,
			rpcrdma.Config{
				Logger: quiet, Dialect: w.dialect, Credits: 16,
				// Small limits, so that leaks are noticed.
				MaxMessage: 2 << 20, ConnMemory: 4 << 20, ServerMemory: 12 << 20,
			})
	}()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.server, w.served = s, served
	w.starts++
}

// stop ends the server, its connections and calls, and drops uncommitted data.
func (w *world) stop() {
	w.mu.Lock()
	s, served := w.server, w.served
	w.mu.Unlock()
	s.Close()
	<-served
	time.Sleep(time.Second) // handlers that were cancelled take a moment to return
	if st := s.Stats(); st.InFlight != 0 || st.Conns != 0 {
		w.t.Errorf("the server has ended, and %d calls and %d connections are left",
			st.InFlight, st.Conns)
	}
	if err := w.fs.lose(); err != nil {
		w.t.Error(err)
	}
}

// restarts returns the number of restarts, which identifies a run of the server.
func (w *world) restarts() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.starts
}

// client is the client of one host.
type client struct {
	dialect rpcrdma.Dialect
	conn    *redial.Conn
	nfs     *nfsclient.Client
	root    nfs3.FH
	conns   sync.Map // *rpcrdma.Conn: all connections so far
}

// client connects from a host, and mounts.
func (w *world) client(n int) *client {
	w.t.Helper()
	c := &client{dialect: w.dialect}
	host := netip.AddrFrom4([4]byte{10, 0, 0, byte(2 + n)}).String()
	d := w.work.Dialer(iwarp.Dialer{Config: provider(), DialContext: w.net.Dialer(host)})
	conn, err := redial.New(context.Background(), func(ctx context.Context) (oncrpc.Transport, error) {
		conn, err := rpcrdma.Dial(ctx, d, serverAddr,
			rpcrdma.Config{Logger: quiet, Dialect: w.dialect, Credits: 16})
		if err != nil {
			return nil, err
		}
		c.conns.Store(conn, nil)
		return conn, nil
	}, redial.Config{Conns: 1 + n%2, Wait: -1, Stall: stall, Logger: quiet})
	if err != nil {
		w.t.Fatal(err)
	}
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: fmt.Sprint("client", n), UID: 0, GID: 0})
	if err != nil {
		w.t.Fatal(err)
	}
	c.conn, c.nfs = conn, nfsclient.New(conn, cred)
	if c.root, err = nfsclient.Mount(w.t.Context(), conn, cred, "/"); err != nil {
		w.t.Fatal(err)
	}
	return c
}

// checkIdle checks that calls have left nothing on the connections. No call is under way.
func (c *client) checkIdle(t *testing.T) {
	t.Helper()
	c.conns.Range(func(k, _ any) bool {
		conn := k.(*rpcrdma.Conn)
		_, inUse, waiting := conn.Credits()
		if conn.Err() == nil && (inUse != 0 || waiting != 0) {
			t.Errorf("an idle connection has %d credits in use, and %d calls that wait", inUse, waiting)
		}
		return true
	})
}

// checkPeer checks that an end has no complaint about its peer, which runs our code too.
func checkPeer(t *testing.T, c *rpcrdma.Conn, dialect rpcrdma.Dialect) {
	t.Helper()
	s := c.Stats()
	if dialect == rpcrdma.Draft { // replies without memory for them are refused
		s.TooLong, s.ErrorsSent, s.ErrorsRecv = 0, 0, 0
	}
	wrong := s.Malformed + s.BadVersion + s.ErrorsSent + s.ErrorsRecv
	wrong += s.UnknownXID + s.Exceeded + s.Unserved + s.TooLong
	if wrong > 0 {
		t.Errorf("the peer at %v has done something wrong: %+v", c.RemoteAddr(), s)
	}
}

// close ends a client and all of its connections.
func (c *client) close(t *testing.T) {
	t.Helper()
	c.conn.Close()
	<-c.conn.Done()
	c.conns.Range(func(k, _ any) bool {
		conn := k.(*rpcrdma.Conn)
		<-conn.Done()
		checkPeer(t, conn, c.dialect)
		return true
	})
}
