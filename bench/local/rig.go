package local

import (
	"context"
	"encoding/binary"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/nfs/memory"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/loopback"
)

// FileSize is the length in bytes of the file that calls read and write.
const FileSize = 64 << 20

// page is the size of a page of memory.
const page = 4 << 10

// Rig is an NFS server with a file system in memory, and a client connected to it over the loopback
// provider.
type Rig struct {
	server *memory.Server
	client *nfsclient.Client
	file   nfs3.FH
	plain  []byte // for the yardsticks; as large as the file
	buf    []byte // for the data of READs and WRITEs

	conn *rpcrdma.Conn
}

// NewRig starts server and client, and writes the file.
func NewRig(ctx context.Context) (*Rig, error) {
	server, err := memory.New(memfs.Config{}, oncrpc.ServerConfig{})
	if err != nil {
		return nil, err
	}
	fabric := loopback.New()
	l, err := fabric.Listen("server", loopback.Config{})
	if err != nil {
		return nil, err
	}
	r := &Rig{server: server}
	server.Start(ctx, "server", func(ctx context.Context, srv *oncrpc.Server) error {
		return rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
	})
	if r.conn, err = rpcrdma.Dial(ctx, fabric.Dialer(loopback.Config{}), "server", rpcrdma.Config{}); err == nil {
		err = r.fill(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// fill writes the file. Its pages differ, so that the kernel does not merge them.
func (r *Rig) fill(ctx context.Context) error {
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "bench"})
	if err != nil {
		return err
	}
	r.client = nfsclient.New(r.conn, cred)
	dir, err := r.client.Mount(ctx, memory.Export)
	if err != nil {
		return err
	}
	o, err := r.client.Create(ctx, dir, "file", nfs3.CreateHow{})
	if err != nil {
		return err
	}
	r.file = o.File
	r.plain, r.buf = make([]byte, FileSize), host.Pattern(1<<20)
	for i := 0; i < FileSize; i += len(r.buf) {
		copy(r.plain[i:], r.buf)
	}
	for i := 0; i < FileSize; i += page {
		binary.LittleEndian.PutUint64(r.plain[i:], uint64(i)*0x9e3779b97f4a7c15)
	}
	for off := 0; off < FileSize; off += len(r.buf) {
		if _, err := r.client.Write(ctx, r.file, uint64(off), r.plain[off:off+len(r.buf)], nfs3.Unstable); err != nil {
			return err
		}
	}
	return nil
}

// Close closes client and server, and waits for their end.
func (r *Rig) Close() error {
	if r.conn != nil {
		r.conn.Close()
		<-r.conn.Done()
	}
	return r.server.Close()
}
