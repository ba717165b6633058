package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsfs"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// demoConfigs are the two ends of the demo. In the draft nothing is said at setup, so that sizes and alignment are for
// CONF_RDMA to agree on.
var demoConfigs = [...]struct{ server, client rpcrdma.Config }{
	rpcrdma.RFC8166: {},
	rpcrdma.Draft: {
		server: rpcrdma.Config{Dialect: rpcrdma.Draft, NoPrivateData: true, InlineRecv: 32 << 10, Align: 4 << 10},
		client: rpcrdma.Config{Dialect: rpcrdma.Draft, NoPrivateData: true},
	},
}

// configure agrees with the server on sizes and alignment.
func (d *demo) configure(ctx context.Context, conn *rpcrdma.Conn) error {
	before, _ := conn.Inline()
	if _, err := confproto.Configure(ctx, conn, confproto.Options{}); err != nil {
		return err
	}
	s := conn.Settings()
	fmt.Fprintf(d.out, "CONF_RDMA: from %d bytes inline to %d each way, data aligned to %d, %d RDMA Reads at a time\n",
		before, s.MaxSend, s.PeerAlign, s.Reads)
	return nil
}

// parts are the small files of the draft's demo: a length that needs round-up, and so many that a list of them is longer than
// the 1024 bytes inline of a connection that nothing was said on.
const (
	parts    = 16
	partSize = 8<<10 - 1
)

func partName(i int) string { return fmt.Sprintf("part.%02d", i) }

// draft has the mechanisms of the draft do something: RDMA_MSGP upwards, and downwards read lists with RDMA_DONE. It returns the bytes of
// round-up that write chunks came back with.
func (d *demo) draft(ctx context.Context, server *demoServer, cfg rpcrdma.Config, t *traffic) (roundUp int64, err error) {
	data := make([]byte, parts*partSize)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // never fails
	for i := range parts {
		if err := writePart(ctx, d.fs, partName(i), data[i*partSize:][:partSize]); err != nil {
			return 0, fmt.Errorf("upload of %s: %w", partName(i), err)
		}
	}
	if err := readPart(ctx, d.fs, partName(0), data[:partSize]); err != nil {
		return 0, fmt.Errorf("download of %s: %w", partName(0), err)
	}
	roundUp = t.sum().writeChunk - d.down.bytes - partSize

	cfg.NoReplyChunks = true
	conn, end, err := server.dial(ctx, cfg)
	if err != nil {
		return 0, err
	}
	defer end()
	second, err := mount(ctx, conn)
	if err != nil {
		return 0, err
	}
	n := 0
	for e, err := range second.Entries(ctx, "") {
		if err != nil {
			return 0, err
		}
		if e.Size() == partSize {
			n++
		}
	}
	if n < parts {
		return 0, fmt.Errorf("%w: %d files of %d in the list", errMismatch, n, parts)
	}
	for i := range parts {
		if err := checkPart(ctx, second, partName(i), data[i*partSize:][:partSize]); err != nil {
			return 0, fmt.Errorf("download of %s: %w", partName(i), err)
		}
	}
	fmt.Fprintf(d.out, "%d files of %d bytes, up in RDMA_MSGP, down by read lists, and one by a write chunk, too: the same\n", parts, partSize)
	return roundUp, nil
}

func writePart(ctx context.Context, to *nfsfs.FS, name string, data []byte) error {
	f, err := to.OpenFile(ctx, name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

// checkPart reads a file by one READ.
func checkPart(ctx context.Context, from *nfsfs.FS, name string, want []byte) error {
	f, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	got := make([]byte, len(want))
	if _, err = io.ReadFull(f, got); err == nil && !bytes.Equal(got, want) {
		err = errMismatch
	}
	return err
}

// readPart reads a file by READs that are longer than it, so that its data comes in a write chunk.
func readPart(ctx context.Context, from *nfsfs.FS, name string, want []byte) error {
	f, err := from.Open(ctx, name)
	if err != nil {
		return err
	}
	defer f.Close()
	var got bytes.Buffer
	if _, err = f.WriteTo(&got); err == nil && !bytes.Equal(got.Bytes(), want) {
		err = errMismatch
	}
	return err
}
