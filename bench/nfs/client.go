package nfs

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/bench/nfs/memory"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// call makes one call with the memory of a slot.
type call func(ctx context.Context, c *client, slot int) error

// client makes calls from one goroutine for each slot.
type client struct {
	dialer          transport.Dialer
	conn            *rpcrdma.Conn
	each            []oncrpc.ClientInterceptor
	nfs             *nfsclient.Client
	file            nfs3.FH
	slots           [][]byte // memory, one for each call in flight
	*paired.Callers          // one for each slot
}

// dial connects, and writes a file of size bytes for each slot.
func dial(ctx context.Context, e Ends, s paired.Sockets, addr string, call call, size, slots int) (
	*client, error) {
	d := e.Dialer(s)
	var cfg rpcrdma.Config
	var each []oncrpc.ClientInterceptor
	if e.ClientMetrics {
		m := metrics.New()
		cfg.Counters, each = m.RDMA(), append(each, m.MakeCall)
	}
	conn, err := rpcrdma.Dial(ctx, d, addr, cfg)
	if err != nil {
		return nil, errors.Join(err, rdma.CloseDialer(d))
	}
	c := &client{dialer: d, conn: conn, each: each}
	for slot := range slots {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(i + slot)
		}
		c.slots = append(c.slots, b)
	}
	if err := c.setUp(ctx); err != nil {
		return nil, errors.Join(err, c.disconnect())
	}
	ctx = context.WithoutCancel(ctx)
	c.Callers = paired.NewCallers(slots, func(slot int) error { return call(ctx, c, slot) })
	return c, nil
}

func (c *client) setUp(ctx context.Context) error {
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "bench"})
	if err != nil {
		return err
	}
	c.nfs = nfsclient.New(c.conn, cred, c.each...)
	dir, err := c.nfs.Mount(ctx, memory.Export)
	if err != nil {
		return err
	}
	o, err := c.nfs.Create(ctx, dir, "file", nfs3.CreateHow{})
	if err != nil {
		return err
	}
	c.file = o.File
	for i, b := range c.slots {
		r, err := c.nfs.Write(ctx, c.file, uint64(i*len(b)), b, nfs3.Unstable)
		if err := short(err, r.N, len(b)); err != nil {
			return err
		}
	}
	return nil
}

// Close closes the connection.
func (c *client) Close() error {
	c.End()
	return c.disconnect()
}

func (c *client) disconnect() error {
	err := c.conn.Close()
	<-c.conn.Done()
	return errors.Join(err, rdma.CloseDialer(c.dialer))
}
