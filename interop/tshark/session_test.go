//go:build interop

package tshark

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// names is how many files a session makes: too many to list inline in one reply.
const names = 60

// serve serves a file system in memory on l, until stop.
func serve(t *testing.T, l transport.Listener) (stop func()) {
	t.Helper()
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(nfs.Programs()...)
	ended := make(chan error, 1)
	go func() { ended <- rpcrdma.Serve(context.WithoutCancel(t.Context()), l, srv, rpcrdma.Config{}) }()
	return func() {
		srv.Shutdown(context.WithoutCancel(t.Context()))
		if err := <-ended; !errors.Is(err, oncrpc.ErrServerClosed) {
			t.Errorf("Serve: %v", err)
		}
	}
}

// nfsSession is a session of an NFS client: inline calls, and calls with a read chunk, a write
// chunk and a reply chunk. Some data has a length that is not a multiple of 4. The connection has
// ended when it returns.
func nfsSession(ctx context.Context, t *testing.T, d transport.Dialer, addr string) {
	t.Helper()
	conn, err := rpcrdma.Dial(ctx, d, addr, rpcrdma.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		conn.Close()
		<-conn.Done()
	}()
	if err := nfsCalls(ctx, conn); err != nil {
		t.Fatal(err)
	}
}

func nfsCalls(ctx context.Context, conn *rpcrdma.Conn) error {
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "tshark"})
	if err != nil {
		return err
	}
	c := nfsclient.New(conn, cred)
	root, err := c.Mount(ctx, "/")
	if err != nil {
		return err
	}
	for i := range names {
		if _, err := c.Create(ctx, root, fmt.Sprintf("file with number %d", i), nfs3.CreateHow{}); err != nil {
			return err
		}
	}
	n := 0
	for _, err := range c.ReadDir(ctx, root) {
		if err != nil {
			return err
		}
		n++
	}
	if n != names {
		return fmt.Errorf("%d names in the directory, want %d", n, names)
	}
	o, err := c.Create(ctx, root, "data", nfs3.CreateHow{})
	if err != nil {
		return err
	}
	for _, size := range []int{6, 10_000, 40_003, 300_000} {
		data := bytes.Repeat([]byte{'a', 'b', 'c', 'd', 'e', 'f', 'g'}, size/7+1)[:size]
		if _, err := c.Write(ctx, o.File, 0, data, nfs3.Unstable); err != nil {
			return err
		}
		got := make([]byte, size)
		r, err := c.Read(ctx, o.File, 0, got)
		if err != nil {
			return err
		}
		if r.N != size || !bytes.Equal(got, data) {
			return fmt.Errorf("%d bytes were read, want the %d written", r.N, size)
		}
	}
	return nil
}

// fault is a work request that makes the other end end the connection with a Terminate.
type fault struct {
	op  transport.Op
	len int // bytes, if more than an rdmaDone
}

// rdmaDone is an RDMA_DONE message, because tshark takes every Send for RPC-over-RDMA.
var rdmaDone = []byte{
	0, 0, 0, 1, // XID
	0, 0, 0, 1, // version
	0, 0, 0, 1, // credits
	0, 0, 0, 3, // RDMA_DONE
}

// faultSession posts a fault as its first request. The connection has ended when it returns.
func faultSession(ctx context.Context, t *testing.T, l transport.Listener, d transport.Dialer, f fault, want error) {
	t.Helper()
	a, b := connect(ctx, t, l, d)
	a.Start(nobody{})
	b.Start(nobody{})
	s, err := a.Domain().Alloc(max(f.len, len(rdmaDone)), transport.LocalWrite)
	if err != nil {
		t.Fatal(err)
	}
	copy(s.Bytes, rdmaDone)
	err = a.Post(&transport.WorkRequest{
		Op: f.op, Flags: transport.Signaled, Local: []transport.Slice{s},
		Remote: transport.Remote{STag: 0xbad0bad0, Offset: 4096}, Done: nobody{},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, ep := range map[string]transport.Endpoint{"the end at fault": a, "the other end": b} {
		select {
		case <-ep.Done():
		case <-ctx.Done():
			t.Fatalf("%s has not ended", name)
		}
		if err := ep.Err(); !errors.Is(err, want) {
			t.Errorf("%s ended with %v, want %v", name, err, want)
		}
	}
}

// connect returns the two ends of a connection, the dialing one first.
func connect(ctx context.Context, t *testing.T, l transport.Listener, d transport.Dialer) (a, b transport.Endpoint) {
	t.Helper()
	accepted := make(chan transport.Endpoint, 1)
	go func() {
		defer close(accepted)
		if req, err := l.Accept(ctx); err == nil {
			if ep, err := req.Accept(ctx, nil); err == nil {
				accepted <- ep
			}
		}
	}()
	a, err := d.Dial(ctx, l.Addr().String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	b = <-accepted
	if b == nil {
		t.Fatal("no connection was accepted")
	}
	return a, b
}

// nobody is a handler that ignores messages and completions.
type nobody struct{}

func (nobody) Received([]transport.Message)           {}
func (nobody) Complete(*transport.WorkRequest, error) {}

// setup is the provider of a session: the listener, and the dialer that reaches it.
func setup(t *testing.T, listen, dial iwarp.Config) (*counted, *counted) {
	t.Helper()
	l, err := iwarp.Listen(t.Context(), "127.0.0.1:0", listen)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return countListener(l), countDialer(iwarp.Dialer{Config: dial})
}
