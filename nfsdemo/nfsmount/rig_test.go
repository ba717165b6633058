package nfsmount_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var quiet = slog.New(slog.DiscardHandler)

// sys returns the credential of a user.
func sys(t *testing.T) oncrpc.ClientFlavor {
	t.Helper()
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{UID: 1000, GID: 1000})
	if err != nil {
		t.Fatal(err)
	}
	return cred
}

// newFS returns an empty file system.
func newFS(t *testing.T) *memfs.FS {
	t.Helper()
	fs, err := memfs.New(memfs.Config{RootMode: 0o777})
	if err != nil {
		t.Fatal(err)
	}
	return fs
}

// nfsOf returns the NFS and MOUNT programs of exports.
func nfsOf(t *testing.T, exports ...nfsserver.Export) []oncrpc.Program {
	t.Helper()
	s, err := nfsserver.New(nfsserver.Config{Exports: exports, Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	return s.Programs()
}

// only returns the programs with the given number.
func only(number uint32, programs []oncrpc.Program) []oncrpc.Program {
	return slices.DeleteFunc(slices.Clone(programs), func(p oncrpc.Program) bool { return p.Number != number })
}

func newServer(t *testing.T, programs []oncrpc.Program) *oncrpc.Server {
	t.Helper()
	s := oncrpc.NewServer(oncrpc.ServerConfig{Logger: quiet})
	s.Handle(programs...)
	t.Cleanup(func() { s.Shutdown(context.Background()) })
	return s
}

// connect returns a connection to programs inside the process.
func connect(t *testing.T, programs []oncrpc.Program) oncrpc.Transport {
	t.Helper()
	c := pipe.New(newServer(t, programs), pipe.Inline)
	t.Cleanup(func() { c.Close() })
	return c
}

// serve serves programs over TCP until the test ends, and returns the address.
func serve(t *testing.T, where string, programs []oncrpc.Program) string {
	t.Helper()
	l, err := net.Listen("tcp", where)
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(t, programs)
	served := make(chan error, 1)
	go func() { served <- recordmark.Serve(context.Background(), l, s, recordmark.Config{Logger: quiet}) }()
	t.Cleanup(func() {
		s.Close()
		<-served
	})
	return l.Addr().String()
}

var errNobody = errors.New("connection refused")

// host is a server on which any port can be dialled: "server:111" leads to the address that ports
// has.
type host struct {
	ports map[string]string // port number to real address
	mu    sync.Mutex        // guards asked
	asked []string          // ports that were dialled
}

// dial is nfsmount.Config.Dial.
func (h *host) dial(ctx context.Context, addr string) (oncrpc.Transport, error) {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.asked = append(h.asked, port)
	h.mu.Unlock()
	if h.ports[port] == "" {
		return nil, errNobody
	}
	c, err := recordmark.Dial(ctx, h.ports[port],
		recordmark.Config{EnforceMaxReply: true, Logger: quiet})
	if err != nil {
		return nil, err
	}
	return c, nil
}

// mounter is a MOUNT program whose answers the test sets.
type mounter struct {
	exports []mount3.Export
	results map[string]mount3.MntRes // of MNT; others are MNT3ERR_NOENT
	hides   bool                     // it has no EXPORT
	hangs   chan struct{}            // gets an element for each MNT; these are never answered

	mu  sync.Mutex // guards what follows
	log []string   // the calls
}

func (m *mounter) calls() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.log)
}

func (m *mounter) note(call string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, call)
}

func (m *mounter) programs() []oncrpc.Program {
	path := func(c *oncrpc.Call) string {
		var args mount3.MntArgs
		args.UnmarshalXDR(c.Args)
		return args.Path
	}
	return []oncrpc.Program{{Number: mount3.Program, Version: mount3.Version, Procedures: []oncrpc.Procedure{
		mount3.ProcNull: {},
		mount3.ProcMnt: {Handler: func(ctx context.Context, c *oncrpc.Call) error {
			p := path(c)
			m.note("MNT " + p)
			if m.hangs != nil {
				m.hangs <- struct{}{}
				<-ctx.Done()
				return ctx.Err()
			}
			res, ok := m.results[p]
			if !ok {
				res.Status = mount3.ErrNoEnt
			}
			res.MarshalXDR(c.Results)
			return nil
		}},
		mount3.ProcUmnt: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			m.note("UMNT " + path(c))
			return nil
		}},
		mount3.ProcExport: {Handler: func(_ context.Context, c *oncrpc.Call) error {
			m.note("EXPORT")
			if m.hides {
				return oncrpc.ErrProcUnavail
			}
			res := mount3.ExportRes{Exports: m.exports}
			res.MarshalXDR(c.Results)
			return nil
		}},
	}}}
}

// handle returns a handle that contains s.
func handle(s string) nfs3.FH { return nfs3.MakeFH([]byte(s)) }
