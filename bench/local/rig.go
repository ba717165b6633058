package local

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// FileSize is the length in bytes of the file that calls go through.
const FileSize = 64 << 20

// Rig is an NFS server with a file system in memory, and a client connected to it over the loopback provider.
type Rig struct {
	fs     *memfs.FS
	client *nfsclient.Client
	file   nfs3.FH
	plain  []byte // of the yardsticks: as large as the file
	buf    []byte // where READs land and WRITEs come from

	conn   *rpcrdma.Conn
	server *oncrpc.Server
	served chan error
}

// NewRig starts server and client and writes the file.
func NewRig(ctx context.Context) (_ *Rig, err error) {
	fs, err := memfs.New(memfs.Config{})
	if err != nil {
		return nil, err
	}
	nfs, err := nfsserver.New(nfsserver.Config{
		Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}},
	})
	if err != nil {
		return nil, err
	}
	fabric := loopback.New()
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		return nil, err
	}
	r := &Rig{fs: fs, server: oncrpc.NewServer(oncrpc.ServerConfig{}), served: make(chan error, 1)}
	if err := r.server.Handle(nfs.Programs()...); err != nil {
		return nil, err
	}
	go func() { r.served <- rpcrdma.Serve(context.WithoutCancel(ctx), l, r.server, rpcrdma.Config{}) }() // until Close
	defer func() {
		if err != nil {
			r.Close()
		}
	}()
	if r.conn, err = rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "server", rpcrdma.Config{}); err != nil {
		return nil, err
	}
	return r, r.fill(ctx)
}

// fill writes the file. Its bytes differ, lest the kernel or a cache find them alike.
func (r *Rig) fill(ctx context.Context) error {
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "bench"})
	if err != nil {
		return err
	}
	r.client = nfsclient.New(r.conn, cred)
	dir, err := r.client.Mount(ctx, "/")
	if err != nil {
		return err
	}
	o, err := r.client.Create(ctx, dir, "file", nfs3.CreateHow{})
	if err != nil {
		return err
	}
	r.file = o.File
	r.plain, r.buf = make([]byte, FileSize), make([]byte, 1<<20)
	for i := 0; i < FileSize; i += 8 {
		binary.LittleEndian.PutUint64(r.plain[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	for off := 0; off < FileSize; off += len(r.buf) {
		if _, err := r.client.Write(ctx, r.file, uint64(off), r.plain[off:off+len(r.buf)], nfs3.Unstable); err != nil {
			return err
		}
	}
	return nil
}

// Close ends client and server, and waits for their end.
func (r *Rig) Close() error {
	if r.conn != nil {
		r.conn.Close()
		<-r.conn.Done()
	}
	err := r.server.Shutdown(context.Background())
	if end := <-r.served; !errors.Is(end, oncrpc.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}
