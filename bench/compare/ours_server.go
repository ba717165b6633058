package main

import (
	"context"
	"errors"
	"net"

	"github.com/rpcrdma/go-rpcrdma/bench/nfs/memory"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// localhost lets the system choose a port.
const localhost = "127.0.0.1:0"

// start makes the export for w and serves it. serve runs on a goroutine until the server is shut
// down.
func start(
	ctx context.Context, w workload, addr string, serve func(context.Context, *oncrpc.Server) error,
) (paired.Server, error) {
	m, err := memory.New(memfs.Config{RootMode: 0o777}, oncrpc.ServerConfig{})
	if err != nil {
		return nil, err
	}
	m.Start(ctx, addr, serve)
	if w.op == opList {
		err = makeEntries(ctx, m.FS, w.size)
	} else {
		err = fill(ctx, m.RPC)
	}
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return m, nil
}

// makeEntries makes the directory, with n files.
func makeEntries(ctx context.Context, fs *memfs.FS, n int) error {
	dir, _, err := fs.Mkdir(ctx, &vfs.Cred{}, fs.Root(), dirName, &nfs3.Sattr{})
	for i := 0; i < n && err == nil; i++ {
		_, _, err = fs.Create(ctx, &vfs.Cred{}, dir.File, entryName(i), &nfs3.CreateHow{})
	}
	return err
}

// fill writes the file through a client in this process.
func fill(ctx context.Context, srv *oncrpc.Server) error {
	here, there := net.Pipe()
	conn, err := recordmark.NewConn(here, recordmark.Config{})
	if err != nil {
		return err
	}
	peer, err := recordmark.NewConn(there, recordmark.Config{})
	if err != nil {
		return err
	}
	peer.Serve(srv)
	defer func() {
		conn.Close()
		<-peer.Done()
	}()
	c, err := dialOurs(ctx, conn, conn, memory.Export)
	if err != nil {
		return err
	}
	// libnfs calls as the user who runs this.
	mode := nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o666}}
	f, err := c.nfs.Create(ctx, c.root, fileName, nfs3.CreateHow{Set: mode})
	if err != nil {
		return err
	}
	c.file = f.File
	block := make([]byte, 1<<20)
	for off := int64(0); off < fileSize; off += int64(len(block)) {
		content(block, off)
		if err := c.write(off, block); err != nil {
			return err
		}
	}
	return nil
}

// iwarpConfig is for both ends. Both must turn the CRC off, because either side can demand it.
func iwarpConfig(s paired.Sockets, crc iwarp.CRC) iwarp.Config {
	return iwarp.Config{CRC: crc, Control: s.Control}
}

func listenIWARP(ctx context.Context, s paired.Sockets, w workload) (paired.Server, error) {
	return listenRDMA(ctx, w, iwarpConfig(s, iwarp.CRCOff))
}

func listenIWARPWithCRC(ctx context.Context, s paired.Sockets, w workload) (paired.Server, error) {
	return listenRDMA(ctx, w, iwarpConfig(s, iwarp.CRCOn))
}

func listenRDMA(ctx context.Context, w workload, cfg iwarp.Config) (paired.Server, error) {
	l, err := iwarp.Listen(ctx, localhost, cfg)
	if err != nil {
		return nil, err
	}
	return start(ctx, w, l.Addr().String(), func(ctx context.Context, srv *oncrpc.Server) error {
		return rpcrdma.Serve(ctx, l, srv, rpcrdma.Config{})
	})
}

func listenTCP(ctx context.Context, s paired.Sockets, w workload) (paired.Server, error) {
	l, err := (&net.ListenConfig{Control: s.Control}).Listen(ctx, "tcp", localhost)
	if err != nil {
		return nil, err
	}
	return start(ctx, w, at(l.Addr()).String(), func(ctx context.Context, srv *oncrpc.Server) error {
		return recordmark.Serve(ctx, l, srv, recordmark.Config{})
	})
}
