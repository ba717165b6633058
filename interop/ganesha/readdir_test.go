//go:build interop

package ganesha

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/dirfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// target is a directory to list.
type target struct {
	name   string
	client *nfsclient.Client
	dir    nfs3.FH
	times  []time.Duration
}

// defaultExpiration is Ganesha's default for how many seconds it trusts attributes.
const defaultExpiration = 60

// BenchmarkReadDirPlus lists a directory with READDIRPLUS, by turns. Ganesha serves it over TCP,
// with its defaults, and set to ask the host each time, as ours does. Ours serves the same
// directory over TCP and over RDMA, and one in memory over RDMA. It reports the median of each in
// ms, and ours over TCP as a ratio to the Ganesha that asks.
func BenchmarkReadDirPlus(b *testing.B) {
	for _, entries := range []int{10_000, 100_000} {
		b.Run(fmt.Sprint(entries), func(b *testing.B) {
			dir, other := b.TempDir(), b.TempDir()
			host, err := dirfs.New(dirfs.Config{Path: dir})
			if err != nil {
				b.Fatal(err)
			}
			defer host.Close()
			mem, err := memfs.New(memfs.Config{})
			if err != nil {
				b.Fatal(err)
			}
			for i := range entries {
				name := fmt.Sprintf("file%06d", i)
				for _, d := range []string{dir, other} {
					if err := os.WriteFile(filepath.Join(d, name), nil, 0o600); err != nil {
						b.Fatal(err)
					}
				}
				if _, _, err := mem.Create(b.Context(), &vfs.Cred{}, mem.Root(), name, &nfs3.CreateHow{}); err != nil {
					b.Fatal(err)
				}
			}
			nfs, mount := serveGanesha(b, served{dir, 0}, served{other, defaultExpiration})
			tcp, rdma := serve(b, nfsserver.Export{Path: "/host", FS: host}, nfsserver.Export{Path: "/mem", FS: mem})
			targets := []*target{
				{name: "ganesha-asking", client: overTCP(b, nfs), dir: mountOver(b, mount, dir)},
				{name: "ganesha", client: overTCP(b, nfs), dir: mountOver(b, mount, other)},
				{name: "dir-tcp", client: overTCP(b, tcp), dir: host.Root()},
				{name: "dir-rdma", client: overRDMA(b, rdma), dir: host.Root()},
				{name: "mem-rdma", client: overRDMA(b, rdma), dir: mem.Root()},
			}
			for _, t := range targets {
				t.list(b, entries) // once for the caches
			}
			for b.Loop() {
				for _, t := range targets {
					begin := time.Now()
					t.list(b, entries)
					t.times = append(t.times, time.Since(begin))
				}
			}
			for _, t := range targets {
				slices.Sort(t.times)
				b.ReportMetric(float64(t.median())/1e6, t.name+"-ms")
			}
			b.ReportMetric(float64(targets[2].median())/float64(targets[0].median()), "ofasking")
		})
	}
}

func (t *target) median() time.Duration { return t.times[len(t.times)/2] }

// list lists the directory.
func (t *target) list(b *testing.B, want int) {
	got := 0
	for _, err := range t.client.ReadDir(b.Context(), t.dir) {
		if err != nil {
			b.Fatalf("%s: %v", t.name, err)
		}
		got++
	}
	if got != want {
		b.Fatalf("%s: %d entries, want %d", t.name, got, want)
	}
}

// serve serves exports over TCP and over RDMA, and returns the addresses.
func serve(b *testing.B, exports ...nfsserver.Export) (tcp, rdma string) {
	nfs, err := nfsserver.New(nfsserver.Config{Exports: exports})
	if err != nil {
		b.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{})
	srv.Handle(nfs.Programs()...)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	r, err := iwarp.Listen(b.Context(), "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	go recordmark.Serve(ctx, l, srv, recordmark.Config{})
	go rpcrdma.Serve(ctx, r, srv, rpcrdma.Config{})
	b.Cleanup(func() { srv.Close() })
	return l.Addr().String(), r.Addr().String()
}

func overTCP(b *testing.B, addr string) *nfsclient.Client {
	return nfsclient.New(dial(b, addr), cred(b))
}

func dial(b *testing.B, addr string) oncrpc.Transport {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	conn, err := recordmark.NewConn(c, recordmark.Config{EnforceMaxReply: true})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return conn
}

func overRDMA(b *testing.B, addr string) *nfsclient.Client {
	conn, err := rpcrdma.Dial(b.Context(), iwarp.Dialer{}, addr, rpcrdma.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.Close() })
	return nfsclient.New(conn, cred(b))
}

// mountOver asks the MOUNT program at addr for the handle of a directory.
func mountOver(b *testing.B, addr, dir string) nfs3.FH {
	h, err := nfsclient.Mount(b.Context(), dial(b, addr), cred(b), dir)
	if err != nil {
		b.Fatal(err)
	}
	return h
}

func cred(b *testing.B) oncrpc.ClientFlavor {
	a, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "bench"})
	if err != nil {
		b.Fatal(err)
	}
	return a
}
