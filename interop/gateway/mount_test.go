//go:build interop

package gateway

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/nfsclients"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// TestMountElsewhere has a server with MOUNT over TCP only, like Linux's. The gateway finds it by
// rpcbind, or by its option.
func TestMountElsewhere(t *testing.T) {
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		t.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/memory", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		t.Fatal(err)
	}
	overRDMA, overTCP := oncrpc.NewServer(oncrpc.ServerConfig{}), oncrpc.NewServer(oncrpc.ServerConfig{})
	for _, p := range nfs.Programs() {
		if p.Number == mount3.Program {
			overTCP.Handle(p)
		} else {
			overRDMA.Handle(p)
		}
	}
	tcp, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	rdma, err := iwarp.Listen(t.Context(), host+":0", iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ends := make(chan error, 2)
	go func() { ends <- recordmark.Serve(context.Background(), tcp, overTCP, recordmark.Config{}) }()
	go func() { ends <- rpcrdma.Serve(context.Background(), rdma, overRDMA, rpcrdma.Config{}) }()
	t.Cleanup(func() {
		overTCP.Close()
		overRDMA.Close()
		for range 2 {
			if err := <-ends; !errors.Is(err, oncrpc.ErrServerClosed) {
				t.Error(err)
			}
		}
	})
	url, port := fmt.Sprintf("rdma://%s", rdma.Addr()), tcp.Addr().(*net.TCPAddr).Port

	willscott := nfsclients.All[1]
	t.Run("told", func(t *testing.T) {
		g := served.StartGateway(t, command, "--to", url, "--mount-to", fmt.Sprintf("tcp://%s:%d", host, port))
		willscott.Check(t, at(g), "/memory", "told")
		g.Stop()
	})
	t.Run("told in the URL", func(t *testing.T) {
		g := served.StartGateway(t, command, "--to", fmt.Sprintf("%s?mountport=%d", url, port))
		willscott.Check(t, at(g), "/memory", "url")
		g.Stop()
	})
	t.Run("found", func(t *testing.T) {
		c, err := rpcbind.DialLocal(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r, err := rpcbind.Register(t.Context(), c, rpcbind.Mappings(mount3.Program, mount3.Version, rpcbind.NetidTCP, tcp.Addr().(*net.TCPAddr).AddrPort()))
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := r.Unregister(context.Background()); err != nil {
				t.Error(err)
			}
		}()
		g := served.StartGateway(t, command, "--to", url)
		for i := range 2 { // the second time it is known
			willscott.Check(t, at(g), "/memory", fmt.Sprintf("found-%d", i))
		}
		g.Stop()
	})
}
