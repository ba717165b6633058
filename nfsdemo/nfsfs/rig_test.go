package nfsfs_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"

	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// server is a server of an in-memory file system, exported as /srv/data. change may change its
// programs.
func server(tb testing.TB, change func(progs []oncrpc.Program)) *oncrpc.Server {
	tb.Helper()
	mem, err := memfs.New(memfs.Config{})
	if err != nil {
		tb.Fatal(err)
	}
	s, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: export, FS: mem, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		tb.Fatal(err)
	}
	progs := s.Programs()
	if change != nil {
		change(progs)
	}
	rpc := oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	rpc.Handle(progs...)
	over := nfsfs.Watch()
	tb.Cleanup(func() {
		defer over()
		rpc.Shutdown(context.Background())
	})
	return rpc
}

const export = "/srv/data"

// mount returns the server's files as seen by a user.
func mount(tb testing.TB, conn oncrpc.Transport, uid uint32, cfg nfsfs.Config) *nfsfs.FS {
	tb.Helper()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "test", UID: uid, GID: uid})
	if err != nil {
		tb.Fatal(err)
	}
	c := nfsclient.New(conn, cred)
	root, err := c.Mount(tb.Context(), export)
	if err != nil {
		tb.Fatal(err)
	}
	cfg.Export = export
	return nfsfs.New(c, root, cfg)
}

// local mounts a file system in this process, as root.
func local(tb testing.TB, cfg nfsfs.Config) *nfsfs.FS {
	tb.Helper()
	return mount(tb, pipe.New(server(tb, nil), pipe.Chunked), 0, cfg)
}

// transports connect to a server.
var transports = map[string]func(testing.TB, *oncrpc.Server) oncrpc.Transport{
	"inline":  func(_ testing.TB, s *oncrpc.Server) oncrpc.Transport { return pipe.New(s, pipe.Inline) },
	"chunked": func(_ testing.TB, s *oncrpc.Server) oncrpc.Transport { return pipe.New(s, pipe.Chunked) },
	"tcp": func(tb testing.TB, s *oncrpc.Server) oncrpc.Transport {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			tb.Fatal(err)
		}
		go recordmark.Serve(context.Background(), l, s, recordmark.Config{})
		c, err := recordmark.Dial(tb.Context(), l.Addr().String(),
			recordmark.Config{EnforceMaxReply: true})
		return closed(tb, c, err)
	},
	"iwarp": func(tb testing.TB, s *oncrpc.Server) oncrpc.Transport {
		l, err := iwarp.Listen(tb.Context(), "127.0.0.1:0", iwarp.Config{})
		if err != nil {
			tb.Fatal(err)
		}
		return overRDMA(tb, s, l, iwarp.Dialer{})
	},
	"loopback": func(tb testing.TB, s *oncrpc.Server) oncrpc.Transport {
		fabric := loopback.New()
		l, err := fabric.Listen("", loopback.Config{})
		if err != nil {
			tb.Fatal(err)
		}
		return overRDMA(tb, s, l, fabric.Dialer(loopback.Config{}))
	},
}

func overRDMA(tb testing.TB, s *oncrpc.Server, l transport.Listener, d transport.Dialer) oncrpc.Transport {
	go rpcrdma.Serve(context.Background(), l, s, rpcrdma.Config{})
	c, err := rpcrdma.Dial(tb.Context(), d, l.Addr().String(), rpcrdma.Config{})
	return closed(tb, c, err)
}

// closed closes a connection at the end of the test.
func closed(tb testing.TB, c oncrpc.Transport, err error) oncrpc.Transport {
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		c.Close()
		<-c.Done()
	})
	return c
}

func overAll(t *testing.T, cfg nfsfs.Config, test func(t *testing.T, f *nfsfs.FS)) {
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) { test(t, mount(t, connect(t, server(t, nil)), 0, cfg)) })
	}
}

func ok(tb testing.TB, errs ...error) {
	tb.Helper()
	if err := errors.Join(errs...); err != nil {
		tb.Fatal(err)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(tb testing.TB) T {
		tb.Helper()
		ok(tb, err)
		return v
	}
}

// write makes a file.
func write(tb testing.TB, f *nfsfs.FS, name string, data string) {
	tb.Helper()
	o := must(f.Create(tb.Context(), name))(tb)
	_, err := o.Write([]byte(data))
	ok(tb, err, o.Close())
}

// mountRapid is mount as root, for property tests.
func mountRapid(t *rapid.T, conn oncrpc.Transport, cfg nfsfs.Config) *nfsfs.FS {
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "test"})
	if err != nil {
		t.Fatal(err)
	}
	c := nfsclient.New(conn, cred)
	root, err := c.Mount(t.Context(), export)
	if err != nil {
		t.Fatal(err)
	}
	return nfsfs.New(c, root, cfg)
}
