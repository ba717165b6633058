package nfsdemo

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/hang"
	"github.com/rpcrdma/go-rpcrdma/internal/rocerig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/sctp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
	"github.com/rpcrdma/go-rpcrdma/transport/roce"
	"github.com/rpcrdma/go-rpcrdma/transport/transporttest"
)

var quiet = slog.New(slog.DiscardHandler)

// anywhere returns where a server listens at first. On Linux no other process has that host, so it
// cannot take the port while the server is away.
func anywhere(t *testing.T) string {
	t.Helper()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = rocerig.Addr(t).String()
	}
	return net.JoinHostPort(host, "0")
}

// carrier is a transport whose servers keep their address across restarts.
type carrier struct {
	serve func(at string, srv *oncrpc.Server) (addr string, served chan error, err error)
	rdma  func() transport.Dialer // nil: it is TCP
}

// dial connects to a server.
func (c carrier) dial(ctx context.Context, addr string) (oncrpc.Transport, error) {
	if c.rdma == nil {
		return recordmark.Dial(ctx, addr, recordmark.Config{EnforceMaxReply: true, Logger: quiet})
	}
	return rpcrdma.Dial(ctx, c.rdma(), addr, rpcrdma.Config{Logger: quiet})
}

// carriers are those that the tests run over.
func carriers(t *testing.T) map[string]carrier {
	fabric := loopback.New()
	dialer := fabric.Dialer(loopback.Config{}) // the client's host, as the server sees it
	rdma := func(l transport.Listener, err error, srv *oncrpc.Server) (string, chan error, error) {
		if err != nil {
			return "", nil, err
		}
		served := make(chan error, 1)
		go func() { served <- rpcrdma.Serve(context.Background(), l, srv, rpcrdma.Config{Logger: quiet}) }()
		return l.Addr().String(), served, nil
	}
	var client netip.Addr // with RoCE, of which another process might have the port
	if runtime.GOOS == "linux" {
		client = rocerig.Addr(t)
	}
	low := sctp.Config{UDPPort: -1, Logger: quiet}
	var over *sctp.Dialer // to the UDP port that all servers share
	t.Cleanup(func() {
		if over == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), hang.Patience)
		defer cancel()
		if err := over.Close(ctx); err != nil {
			t.Errorf("an association that has no sessions does not end: %v", err)
		}
	})
	all := map[string]carrier{
		"sctp": {
			func(at string, srv *oncrpc.Server) (string, chan error, error) {
				below, err := sctp.Listen(context.Background(), at, low)
				if err != nil {
					return "", nil, err
				}
				if over == nil {
					low.UDPPort = int(below.Addr().(sctp.Addr).UDPPort)
					if over, err = sctp.NewDialer(low); err != nil {
						return "", nil, err
					}
				}
				l, err := iwarp.NewListener(below, iwarp.Config{Logger: quiet})
				return rdma(l, err, srv)
			},
			func() transport.Dialer {
				return iwarp.Dialer{Config: iwarp.Config{Logger: quiet}, DialContext: over.DialContext}
			},
		},
		"tcp": {
			func(at string, srv *oncrpc.Server) (string, chan error, error) {
				l, err := net.Listen("tcp", at)
				if err != nil {
					return "", nil, err
				}
				served := make(chan error, 1)
				go func() { served <- recordmark.Serve(context.Background(), l, srv, recordmark.Config{Logger: quiet}) }()
				return l.Addr().String(), served, nil
			},
			nil,
		},
		"iwarp": {
			func(at string, srv *oncrpc.Server) (string, chan error, error) {
				l, err := iwarp.Listen(context.Background(), at, iwarp.Config{Logger: quiet})
				return rdma(l, err, srv)
			},
			func() transport.Dialer { return iwarp.Dialer{Config: iwarp.Config{Logger: quiet}} },
		},
		"roce": {
			func(at string, srv *oncrpc.Server) (string, chan error, error) {
				l, err := roce.Listen(context.Background(), at, roce.Config{Logger: quiet})
				return rdma(l, err, srv)
			},
			func() transport.Dialer {
				return roce.Dialer{Config: roce.Config{Local: client, Logger: quiet}}
			},
		},
		"device": {
			func(at string, srv *oncrpc.Server) (string, chan error, error) {
				l, err := fabric.Listen("station", loopback.Config{})
				onDevice, _ := transporttest.Device(l, dialer)
				return rdma(onDevice, err, srv)
			},
			func() transport.Dialer {
				_, d := transporttest.Device(nil, dialer)
				return d
			},
		},
		"loopback": {
			func(at string, srv *oncrpc.Server) (string, chan error, error) {
				l, err := fabric.Listen("station", loopback.Config{})
				return rdma(l, err, srv)
			},
			func() transport.Dialer { return dialer },
		},
	}
	if runtime.GOOS != "linux" {
		delete(all, "roce")
	}
	return all
}

// restartableServer is an NFS server that can be restarted at the same address. The connections of
// its clients can be cut.
type restartableServer struct {
	t     *testing.T
	by    carrier
	fs    *memfs.FS
	progs []oncrpc.Program
	addr  string

	srv    *oncrpc.Server
	served chan error
	inside sync.RWMutex // read-locked by handlers

	mu    sync.Mutex // guards what follows
	conns []oncrpc.Transport
}

// newRestartableServer starts a server. around wraps each of its procedures.
func newRestartableServer(t *testing.T, by carrier,
	around func(p nfs3.Proc, h oncrpc.Handler) oncrpc.Handler) *restartableServer {
	t.Helper()
	s := &restartableServer{t: t, by: by, addr: anywhere(t)}
	var err error
	if s.fs, err = memfs.New(memfs.Config{}); err != nil {
		t.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: s.fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		t.Fatal(err)
	}
	s.progs = nfs.Programs()
	for i := range s.progs[0].Procedures {
		if p := &s.progs[0].Procedures[i]; p.Handler != nil {
			p.Handler, p.NonBlocking = s.within(around(nfs3.Proc(i), p.Handler)), false
		}
	}
	s.addr = s.start()
	t.Cleanup(func() {
		if s.srv != nil {
			s.stop()
		}
	})
	return s
}

// within wraps a handler. Calls of ended connections are not executed, and stop waits for running
// calls.
func (s *restartableServer) within(h oncrpc.Handler) oncrpc.Handler {
	return func(ctx context.Context, c *oncrpc.Call) error {
		s.inside.RLock()
		defer s.inside.RUnlock()
		if err := ctx.Err(); err != nil {
			return err
		}
		return h(ctx, c)
	}
}

// start makes the server listen at its previous address.
func (s *restartableServer) start() (addr string) {
	s.t.Helper()
	s.srv = oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.srv.Handle(s.progs...)
	for {
		addr, served, err := s.by.serve(s.addr, s.srv)
		if errors.Is(err, syscall.EADDRINUSE) { // used meanwhile by another program's connection
			time.Sleep(time.Millisecond)
			continue
		}
		if err != nil {
			s.t.Fatal(err)
		}
		s.served = served
		return addr
	}
}

// stop ends the server and all connections, and waits until no call is executing. Otherwise a
// repeated call could overtake an old one, and its writes be undone. The server forgets its kept
// replies.
func (s *restartableServer) stop() {
	s.t.Helper()
	s.srv.Close()
	if err := <-s.served; !errors.Is(err, oncrpc.ErrServerClosed) {
		s.t.Error(err)
	}
	s.inside.Lock()
	s.srv = nil
	s.inside.Unlock()
}

func (s *restartableServer) dial(ctx context.Context) (oncrpc.Transport, error) {
	conn, err := s.by.dial(ctx, s.addr)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, conn)
	return conn, nil
}

// cut ends all connections at the client's end, and waits until nothing more arrives there.
func (s *restartableServer) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
		<-conn.Done()
	}
}

// dialled returns the number of connections made so far.
func (s *restartableServer) dialled() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// connect returns a client and the handle of the root.
func (s *restartableServer) connect(cfg redial.Config) (*redial.Conn, *nfsclient.Client, nfs3.FH) {
	s.t.Helper()
	cfg.Logger = quiet
	conn, err := redial.New(s.t.Context(), s.dial, cfg)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		conn.Close()
		<-conn.Done()
	})
	cred, err := oncrpc.AuthSys(*root)
	if err != nil {
		s.t.Fatal(err)
	}
	c := nfsclient.New(conn, cred)
	dir, err := c.Mount(s.t.Context(), "/")
	if err != nil {
		s.t.Fatal(err)
	}
	return conn, c, dir
}
