package main

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// stepped is a file system that reports some calls before it executes them.
type stepped struct {
	vfs.FS
	before func(ctx context.Context, call nfs3.Proc, n int64) // n counts from 1 on
	counts [32]atomic.Int64
}

func (s *stepped) step(ctx context.Context, p nfs3.Proc) {
	s.before(ctx, p, s.counts[p].Add(1))
}

func (s *stepped) Info() vfs.FSInfo {
	i := s.FS.Info()
	i.NonBlocking = false
	return i
}

func (s *stepped) GetAttr(ctx context.Context, h nfs3.FH) (nfs3.Fattr, error) {
	s.step(ctx, nfs3.ProcGetAttr)
	return s.FS.GetAttr(ctx, h)
}

func (s *stepped) Access(ctx context.Context, c *vfs.Cred, h nfs3.FH,
	want nfs3.Access) (nfs3.Access, nfs3.PostOpAttr, error) {
	s.step(ctx, nfs3.ProcAccess)
	return s.FS.Access(ctx, c, h, want)
}

func (s *stepped) ReadLink(ctx context.Context, c *vfs.Cred,
	h nfs3.FH) (string, nfs3.PostOpAttr, error) {
	s.step(ctx, nfs3.ProcReadLink)
	return s.FS.ReadLink(ctx, c, h)
}

func (s *stepped) Lookup(ctx context.Context, c *vfs.Cred, dir nfs3.FH,
	name string) (vfs.Object, nfs3.PostOpAttr, error) {
	s.step(ctx, nfs3.ProcLookup)
	return s.FS.Lookup(ctx, c, dir, name)
}

func (s *stepped) SetAttr(ctx context.Context, c *vfs.Cred, h nfs3.FH, set *nfs3.Sattr,
	guard *nfs3.Time) (nfs3.WccData, error) {
	s.step(ctx, nfs3.ProcSetAttr)
	return s.FS.SetAttr(ctx, c, h, set, guard)
}

func (s *stepped) Read(ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, n int,
	r *vfs.ReadResult) error {
	s.step(ctx, nfs3.ProcRead)
	return s.FS.Read(ctx, c, h, off, n, r)
}

func (s *stepped) Write(ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, data xdr.Bulk,
	how nfs3.StableHow) (vfs.WriteResult, error) {
	s.step(ctx, nfs3.ProcWrite)
	return s.FS.Write(ctx, c, h, off, data, how)
}

func (s *stepped) Create(ctx context.Context, c *vfs.Cred, dir nfs3.FH, name string,
	how *nfs3.CreateHow) (vfs.Object, nfs3.WccData, error) {
	s.step(ctx, nfs3.ProcCreate)
	return s.FS.Create(ctx, c, dir, name, how)
}

func (s *stepped) Rename(ctx context.Context, c *vfs.Cred, from nfs3.FH, fromName string,
	to nfs3.FH, toName string) (fromWcc, toWcc nfs3.WccData, err error) {
	s.step(ctx, nfs3.ProcRename)
	return s.FS.Rename(ctx, c, from, fromName, to, toName)
}

func (s *stepped) Commit(ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64,
	n uint32) (nfs3.WccData, error) {
	s.step(ctx, nfs3.ProcCommit)
	return s.FS.Commit(ctx, c, h, off, n)
}

// startStepped serves a file system in memory as /memory until the test, or stop, ends it.
func startStepped(t *testing.T,
	before func(ctx context.Context, call nfs3.Proc, n int64)) (r *clientRig, stop func()) {
	t.Helper()
	mem, err := memfs.New(memfs.Config{RootUID: uint32(os.Getuid()), RootGID: uint32(os.Getgid())})
	if err != nil {
		t.Fatal(err)
	}
	nfs, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/memory", FS: &stepped{FS: mem, before: before}, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
	if err != nil {
		t.Fatal(err)
	}
	srv := oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
	srv.Handle(nfs.Programs()...)
	ctx, stop := context.WithCancel(context.Background())
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	rdma, err := iwarp.Listen(ctx, "127.0.0.1:0", iwarp.Config{})
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 2)
	go func() { served <- recordmark.Serve(ctx, tcp, srv, recordmark.Config{}) }()
	go func() { served <- rpcrdma.Serve(ctx, rdma, srv, rpcrdma.Config{}) }()
	t.Cleanup(func() {
		stop()
		<-served
		<-served
		srv.Close()
	})
	return &clientRig{serveCommand: &serveCommand{rdma: rdma.Addr().String(), tcp: tcp.Addr().String()}}, stop
}
