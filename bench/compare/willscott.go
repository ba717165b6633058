package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/willscott/go-nfs-client/nfs"
	"github.com/willscott/go-nfs-client/nfs/rpc"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// willscottCaller is willscott/go-nfs-client. All callers share a connection, but not the file,
// because it has a position.
type willscottCaller struct {
	target *nfs.Target
	auth   rpc.Auth
	handle []byte // of the file
	file   *nfs.File
}

func dialWillscott(_ context.Context, _ paired.Sockets, addr string, w workload) ([]caller, func() error, error) {
	l, err := parseLocation(addr)
	if err != nil {
		return nil, nil, err
	}
	c, err := dialWillscottClient(l)
	if err != nil {
		return nil, nil, err
	}
	end := func() error {
		c.Close()
		return nil
	}
	auth := rpc.NewAuthUnix("compare", 0, 0).Auth()
	target, err := (&nfs.Mount{Client: c}).Mount(l.path, auth)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	var all []caller
	for range w.inFlight {
		c := &willscottCaller{target: target, auth: auth}
		if w.op != opList {
			if c.file, err = target.Open("/" + fileName); err != nil {
				return nil, nil, errors.Join(err, end())
			}
			if _, c.handle, err = target.Lookup("/" + fileName); err != nil {
				return nil, nil, errors.Join(err, end())
			}
		}
		all = append(all, c)
	}
	return all, end, nil
}

// dialWillscottClient connects. The client picks a random local port and fails if it is taken, so
// this tries again.
func dialWillscottClient(l location) (c *rpc.Client, err error) {
	for range 1000 {
		if c, err = nfs.DialServiceAtPort(l.host, l.nfs); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return c, err
}

func (c *willscottCaller) null() error {
	_, err := c.target.Call(&rpc.Header{Rpcvers: 2, Prog: nfs.Nfs3Prog, Vers: nfs.Nfs3Vers, Cred: c.auth})
	return err
}

func (c *willscottCaller) getAttr() error {
	_, err := c.target.GetAttr(c.handle)
	return err
}

func (c *willscottCaller) read(off int64, p []byte) error {
	n, err := c.file.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && n != len(p) {
		err = shortErr("read", n, p)
	}
	return err
}

func (c *willscottCaller) write(off int64, p []byte) error {
	if _, err := c.file.Seek(off, io.SeekStart); err != nil {
		return err
	}
	n, err := c.file.Write(p)
	if err == nil && n != len(p) {
		err = shortErr("write", n, p)
	}
	return err
}

func (c *willscottCaller) list() (int, error) {
	all, err := c.target.ReadDirPlus("/" + dirName)
	if err != nil {
		return 0, fmt.Errorf("list: %w", err)
	}
	return len(all), nil
}
