package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/probe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// stuckFS is a file system whose disk hangs in one kind of operation.
type stuckFS struct {
	vfs.FS
	attrs, reads bool
	over         <-chan struct{}
}

func (f *stuckFS) Info() vfs.FSInfo {
	info := f.FS.Info()
	info.NonBlocking = false
	return info
}

func (f *stuckFS) GetAttr(ctx context.Context, h nfs3.FH) (nfs3.Fattr, error) {
	if f.attrs {
		<-f.over
	}
	return f.FS.GetAttr(ctx, h)
}

func (f *stuckFS) Read(ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, n int,
	r *vfs.ReadResult) error {
	if f.reads {
		<-f.over
	}
	return f.FS.Read(ctx, c, h, off, n, r)
}

// TestProbeDisk: a server whose disk hangs answers only what needs no disk.
func TestProbeDisk(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name         string
		attrs, reads bool
		step         string
	}{{"READ", false, true, "read"}, {"MNT", true, false, "mount"}} {
		for _, scheme := range schemes {
			t.Run(tt.name+" over "+scheme, func(t *testing.T) {
				t.Parallel()
				over := make(chan struct{})
				programs := programsOf(t, nfsserver.Export{Path: "/", FS: &stuckFS{exported(t),
					tt.attrs, tt.reads, over}})
				addr := served(t, scheme, programs...)
				t.Cleanup(func() { close(over) }) // before the server is closed
				r := probing{short: true}.of(t, scheme+"://"+addr)
				r.names(t, tt.step, probe.Fail, probe.CauseDisk)
			})
		}
	}
}

// TestProbeOtherDisk: the disk of another export hangs.
func TestProbeOtherDisk(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	addr := tcpServer(t, programsOf(t,
		nfsserver.Export{Path: "/good", FS: exported(t)},
		nfsserver.Export{Path: "/bad", FS: &stuckFS{exported(t), true, false, over}})...)
	t.Cleanup(func() { close(over) })
	for _, path := range []string{"/good", "/"} {
		r := probing{short: true}.of(t, "tcp://"+addr+path)
		r.names(t, "mount", probe.Note, probe.CauseDisk)
		r.find(t, "read", probe.OK)
	}
	probing{short: true}.of(t, "tcp://"+addr+"/bad").names(t, "mount", probe.Fail, probe.CauseDisk)
}

// served serves programs over a transport until the test ends.
func served(t *testing.T, scheme string, programs ...oncrpc.Program) (addr string) {
	t.Helper()
	if scheme == "rdma" {
		return rdmaServer(t, iwarp.Config{}, programs...)
	}
	return tcpServer(t, programs...)
}

// TestProbeMTU: packets of full size are lost in one direction, and with them all that follows on
// their connection.
func TestProbeMTU(t *testing.T) {
	t.Parallel()
	for _, scheme := range schemes {
		for _, up := range []bool{true, false} {
			name := map[bool]string{true: "to the server", false: "from it"}[up]
			t.Run(scheme+", "+name, func(t *testing.T) {
				t.Parallel()
				programs := programsOf(t, nfsserver.Export{Path: "/", FS: exported(t)})
				hole := blackHole(t, served(t, scheme, programs...), up)
				r := probing{short: true}.of(t, scheme+"://"+hole)
				r.names(t, "mtu", probe.Fail, probe.CauseMTU)
			})
		}
	}
}

// TestProbeMTUListing: packets of full size are lost on the way from the server, and a listing is
// the first reply that fills them.
func TestProbeMTUListing(t *testing.T) {
	t.Parallel()
	for _, scheme := range schemes {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			fs := exported(t)
			for i := range 32 {
				how := &nfs3.CreateHow{Mode: nfs3.Unchecked}
				if _, _, err := fs.Create(t.Context(), &vfs.Cred{}, fs.Root(), fmt.Sprint(i), how); err != nil {
					t.Fatal(err)
				}
			}
			programs := programsOf(t, nfsserver.Export{Path: "/", FS: fs})
			hole := blackHole(t, served(t, scheme, programs...), false)
			r := probing{short: true}.of(t, scheme+"://"+hole)
			r.names(t, "mtu", probe.Fail, probe.CauseMTU)
		})
	}
}

// fullSegment is the number of bytes in a packet of a usual MTU.
const fullSegment = 1400

// blackHole passes connections on to an address. In one direction, it stops a connection at the
// first fullSegment bytes that come at once.
func blackHole(t *testing.T, to string, up bool) (addr string) {
	t.Helper()
	var lost atomic.Int32
	addr = listening(t, func(client net.Conn) {
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		var wg sync.WaitGroup
		pass := func(dst, src net.Conn, narrow bool) {
			p := make([]byte, 64<<10)
			for {
				n, err := src.Read(p)
				if err != nil {
					dst.(*net.TCPConn).CloseWrite()
					return
				}
				if narrow && n >= fullSegment {
					lost.Add(1)
					io.Copy(io.Discard, src)
					return
				}
				dst.Write(p[:n])
			}
		}
		wg.Go(func() { pass(server, client, up) })
		pass(client, server, !up)
		wg.Wait()
	})
	t.Cleanup(func() {
		if lost.Load() == 0 {
			t.Error("nothing was lost")
		}
	})
	return addr
}
