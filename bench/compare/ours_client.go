package main

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// ourCaller is our client. All slots share it.
type ourCaller struct {
	ctx             context.Context // of the process, because nobody cancels calls here
	nfs             *nfsclient.Client
	root, file, dir nfs3.FH
}

// dialOurs makes a client from connections to NFS and to MOUNT.
func dialOurs(ctx context.Context, nfs, mount oncrpc.Transport, path string) (*ourCaller, error) {
	cred, err := oncrpc.AuthSys(oncrpc.SysCred{Machine: "compare"})
	if err != nil {
		return nil, err
	}
	c := &ourCaller{ctx: ctx, nfs: nfsclient.New(nfs, cred)}
	c.root, err = nfsclient.Mount(ctx, mount, cred, path)
	return c, err
}

// callers looks up what w needs, and returns c once for each slot.
func (c *ourCaller) callers(w workload) ([]caller, error) {
	name, at := fileName, &c.file
	if w.op == opList {
		name, at = dirName, &c.dir
	}
	o, err := c.nfs.Lookup(c.ctx, c.root, name)
	if err != nil {
		return nil, err
	}
	*at = o.File
	all := make([]caller, w.inFlight)
	for i := range all {
		all[i] = c
	}
	return all, nil
}

func (c *ourCaller) null() error { return c.nfs.Null(c.ctx) }

func (c *ourCaller) getAttr() error {
	_, err := c.nfs.GetAttr(c.ctx, c.file)
	return err
}

func (c *ourCaller) read(off int64, p []byte) error {
	r, err := c.nfs.Read(c.ctx, c.file, uint64(off), p)
	if err == nil && r.N != len(p) {
		err = shortErr("read", r.N, p)
	}
	return err
}

func (c *ourCaller) write(off int64, p []byte) error {
	r, err := c.nfs.Write(c.ctx, c.file, uint64(off), p, nfs3.Unstable)
	if err == nil && r.N != len(p) {
		err = shortErr("write", r.N, p)
	}
	return err
}

func (c *ourCaller) list() (n int, err error) {
	for _, err := range c.nfs.ReadDir(c.ctx, c.dir) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// shortErr returns an error for a transfer of less than all of p.
func shortErr(what string, n int, p []byte) error {
	return fmt.Errorf("%s %d bytes, want %d", what, n, len(p))
}

func dialIWARP(ctx context.Context, s paired.Sockets, addr string, w workload) ([]caller, func() error, error) {
	return dialRDMA(ctx, addr, w, iwarpConfig(s, iwarp.CRCOff))
}

func dialIWARPWithCRC(ctx context.Context, s paired.Sockets, addr string, w workload) ([]caller, func() error, error) {
	return dialRDMA(ctx, addr, w, iwarpConfig(s, iwarp.CRCOn))
}

func dialRDMA(ctx context.Context, addr string, w workload, cfg iwarp.Config) ([]caller, func() error, error) {
	conn, err := rpcrdma.Dial(ctx, iwarp.Dialer{Config: cfg}, addr, rpcrdma.Config{})
	if err != nil {
		return nil, nil, err
	}
	c, err := dialOurs(ctx, conn, conn, "/")
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	all, err := c.callers(w)
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return all, conn.Close, nil
}

// dialTCP connects our client to any server over TCP.
func dialTCP(ctx context.Context, s paired.Sockets, addr string, w workload) ([]caller, func() error, error) {
	l, err := parseLocation(addr)
	if err != nil {
		return nil, nil, err
	}
	mount, err := dialRecords(ctx, s, l.mountAddr())
	if err != nil {
		return nil, nil, err
	}
	defer mount.Close()
	nfs, err := dialRecords(ctx, s, l.nfsAddr())
	if err != nil {
		return nil, nil, err
	}
	c, err := dialOurs(ctx, nfs, mount, l.path)
	if err != nil {
		return nil, nil, errors.Join(err, nfs.Close())
	}
	all, err := c.callers(w)
	if err != nil {
		return nil, nil, errors.Join(err, nfs.Close())
	}
	return all, nfs.Close, nil
}

func dialRecords(ctx context.Context, s paired.Sockets, addr string) (*recordmark.Conn, error) {
	c, err := (&net.Dialer{Control: s.Control}).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return recordmark.NewConn(c, recordmark.Config{})
}
