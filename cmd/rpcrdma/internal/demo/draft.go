package demo

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/rpcrdma/go-rpcrdma/confproto"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// configs are the configurations of the two ends. In the draft's dialect they send nothing at
// setup, so that CONF_RDMA has sizes and alignment to agree on.
var configs = [...]struct{ server, client rpcrdma.Config }{
	rpcrdma.RFC8166: {},
	rpcrdma.Draft: {
		server: rpcrdma.Config{Dialect: rpcrdma.Draft, NoPrivateData: true, InlineRecv: 32 << 10, Align: 4 << 10,
			ConnMemory: Share},
		client: rpcrdma.Config{Dialect: rpcrdma.Draft, NoPrivateData: true},
	},
}

// configure agrees with the server on sizes and alignment. Replies are so short that a list of the
// parts does not fit inline.
func (d *demo) configure(ctx context.Context, conn *rpcrdma.Conn) error {
	before := conn.Settings()
	if _, err := confproto.Configure(ctx, conn, confproto.Options{MaxReply: 2 << 10}); err != nil {
		return err
	}
	s := conn.Settings()
	fmt.Fprintf(d.out, "CONF_RDMA: inline calls of %d bytes become %d, replies of %d become %d; data aligned to "+
		"%d; %d RDMA Reads at a time\n",
		before.MaxSend, s.MaxSend, before.MaxRecv, s.MaxRecv, s.PeerAlign, s.Reads)
	return nil
}

// draft is the part of the demo that uses the draft's mechanisms.
type draft struct {
	*demo
	server  *server
	cfg     rpcrdma.Config // of the client
	traffic *traffic
	counted mechanisms
}

// run uploads with RDMA_MSGP, and downloads with write chunks, a reply chunk, and read lists with
// RDMA_DONE. conn is the connection that the files went over.
func (d *draft) run(ctx context.Context, conn *rpcrdma.Conn) error {
	data := made(Parts * PartSize)
	for i := range Parts {
		if err := writePart(ctx, d.fs, partName(i), data[i*PartSize:][:PartSize]); err != nil {
			return fmt.Errorf("upload of %s: %w", partName(i), err)
		}
	}
	if err := readPart(ctx, d.fs, partName(0), data[:PartSize]); err != nil {
		return fmt.Errorf("download of %s: %w", partName(0), err)
	}
	d.counted.roundUp = d.traffic.sum().writeChunk - d.down.bytes - PartSize
	if err := listParts(ctx, d.fs); err != nil {
		return err
	}
	addr, err := d.lookUp(ctx, conn)
	if err != nil {
		return err
	}
	if err := d.read(ctx, addr, data); err != nil {
		return err
	}
	fmt.Fprintf(d.out, "%d files of %d bytes, up inline, down as read chunks, and one by a write chunk, too: the "+
		"same\n", Parts, PartSize)
	return d.count(ctx, conn)
}

// lookUp asks the server for the address of NFS by rpcbind's GETADDR, over RDMA. Without IP the
// server has no address to answer with.
func (d *draft) lookUp(ctx context.Context, conn *rpcrdma.Conn) (string, error) {
	if _, ok := conn.RemoteAddr().(interface{ AddrPort() netip.AddrPort }); !ok {
		return d.server.addr, nil
	}
	m := rpcbind.Mapping{Program: nfs3.Program, Version: nfs3.Version, Netid: rpcbind.NetidRDMA}
	uaddr, err := rpcbind.NewClient(conn).GetAddr(ctx, m)
	if err != nil {
		return "", err
	}
	addr, err := rpcbind.ParseUniversalAddr(uaddr)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(d.out, "program %d version %d is at %s %s, which the second connection goes to\n", m.Program,
		m.Version, m.Netid, uaddr)
	return addr.String(), nil
}

// read reads everything over a connection that offers no chunks for replies.
func (d *draft) read(ctx context.Context, addr string, data []byte) error {
	var ep *slowEndpoint
	slow := func(below transport.Endpoint) transport.Endpoint {
		ep = newSlowEndpoint(below)
		return ep
	}
	dialer := transport.WrapDialer(d.server.dialer, slow)
	cfg := d.cfg
	cfg.NoReplyChunks = true
	conn, end, err := dial(ctx, dialer, addr, cfg)
	if err != nil {
		return err
	}
	defer end()
	fs, err := mount(ctx, conn)
	if err != nil {
		return err
	}
	if err := listParts(ctx, fs); err != nil {
		return err
	}
	for i := range Parts {
		if err := checkPart(ctx, fs, partName(i), data[i*PartSize:][:PartSize]); err != nil {
			return fmt.Errorf("download of %s: %w", partName(i), err)
		}
	}
	if err := d.withhold(ctx, fs, ep); err != nil {
		return err
	}
	return d.count(ctx, conn)
}
