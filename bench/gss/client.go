package gss

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/bench/nfs/memory"
	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/internal/testrealm"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/gss/krb5"
)

// call makes one call with the memory of a slot.
type call func(ctx context.Context, c *client, slot int) error

// client makes calls from one goroutine for each slot.
type client struct {
	conn            oncrpc.Transport
	closeDialer     closer
	nfs             *nfsclient.Client
	file            nfs3.FH
	slots           [][]byte // memory, one for each call in flight
	*paired.Callers          // one for each slot
}

// dial connects, and writes a file of size bytes for each slot.
func dial(ctx context.Context, ca Carrier, f Flavor, s paired.Sockets, addr string, do call,
	size, slots int) (*client, error) {
	conn, closeDialer, err := ca.dial(ctx, s, addr)
	if err != nil {
		return nil, err
	}
	c := &client{conn: conn, closeDialer: closeDialer}
	for slot := range slots {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(i + slot)
		}
		c.slots = append(c.slots, b)
	}
	if err := inRealm(func(files *testrealm.Files) error { return c.setUp(ctx, f, files) }); err != nil {
		return nil, errors.Join(err, c.disconnect())
	}
	ctx = context.WithoutCancel(ctx)
	c.Callers = paired.NewCallers(slots, func(slot int) error { return do(ctx, c, slot) })
	return c, nil
}

// credential returns the flavour for a client's calls.
func (f Flavor) credential(files *testrealm.Files) (oncrpc.ClientFlavor, error) {
	if f == Sys {
		return oncrpc.AuthSys(oncrpc.SysCred{Machine: "bench"})
	}
	i, err := krb5.NewInitiator(krb5.InitiatorConfig{Cache: files.Cache, Conf: files.Conf})
	if err != nil {
		return nil, err
	}
	return gss.NewClientFlavor(gss.ClientConfig{
		Initiator: i, Target: testrealm.Target, Service: f.service,
	}), nil
}

func (c *client) setUp(ctx context.Context, f Flavor, files *testrealm.Files) error {
	cred, err := f.credential(files)
	if err != nil {
		return err
	}
	c.nfs = nfsclient.New(c.conn, cred)
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
	return errors.Join(err, c.closeDialer())
}
