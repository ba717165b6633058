package nfs

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/bench/rdma"
	"github.com/rpcrdma/go-rpcrdma/metrics"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport"
)

// call makes the call of a slot.
type call func(ctx context.Context, c *client, slot int) error

// client makes calls from as many goroutines as there are slots.
type client struct {
	dialer transport.Dialer
	conn   *rpcrdma.Conn
	each   []oncrpc.ClientInterceptor
	nfs    *nfsclient.Client
	file   nfs3.FH
	slots  [][]byte // memory of the calls in flight
	call   call

	left atomic.Int64 // calls of the run that nobody has taken
	errs chan error   // one for each goroutine
	wait sync.WaitGroup
}

// dial connects, and writes a file with a transfer of size bytes for each slot.
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
	c := &client{dialer: d, conn: conn, each: each, call: call, errs: make(chan error, slots)}
	for slot := range slots {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(i + slot)
		}
		c.slots = append(c.slots, b)
	}
	if err := c.setUp(ctx); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *client) setUp(ctx context.Context) error {
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "bench"})
	if err != nil {
		return err
	}
	c.nfs = nfsclient.New(c.conn, cred, c.each...)
	dir, err := c.nfs.Mount(ctx, export)
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

// Run makes n calls.
func (c *client) Run(n int, samples []time.Duration) error {
	if len(samples) > 0 { // one at a time
		return c.timed(samples)
	}
	c.left.Store(int64(n))
	for slot := range c.slots {
		c.wait.Go(func() { c.errs <- c.work(slot) })
	}
	c.wait.Wait()
	var err error
	for range c.slots {
		err = errors.Join(err, <-c.errs)
	}
	return err
}

// work makes calls as long as there are any to make.
func (c *client) work(slot int) error {
	for ctx := context.Background(); c.left.Add(-1) >= 0; {
		if err := c.call(ctx, c, slot); err != nil {
			return err
		}
	}
	return nil
}

func (c *client) timed(samples []time.Duration) error {
	last := time.Now()
	for i, ctx := 0, context.Background(); i < len(samples); i++ {
		if err := c.call(ctx, c, 0); err != nil {
			return err
		}
		now := time.Now()
		samples[i], last = now.Sub(last), now
	}
	return nil
}

// Close ends the connection.
func (c *client) Close() error {
	err := c.conn.Close()
	<-c.conn.Done()
	return errors.Join(err, rdma.CloseDialer(c.dialer))
}
