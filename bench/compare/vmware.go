package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/vmware/go-nfs-client/nfs"
	"github.com/vmware/go-nfs-client/nfs/rpc"
	"github.com/vmware/go-nfs-client/nfs/xdr"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// Procedures without names in vmware/go-nfs-client.
const (
	procNull    = 0
	procGetAttr = 1
)

// How much of a directory both go-nfs-clients ask for.
const (
	vmwareDirCount = 512
	vmwareMaxCount = 4096
)

// vmwareCaller is vmware/go-nfs-client, with a connection of its own.
type vmwareCaller struct {
	rpc  *rpc.Client
	auth rpc.Auth
	file []byte
	dir  []byte
}

func dialVMware(_ context.Context, _ paired.Sockets, addr string, w workload) ([]caller, func() error, error) {
	l, err := parseLocation(addr)
	if err != nil {
		return nil, nil, err
	}
	var all []caller
	var conns []*rpc.Client
	end := func() error {
		var errs []error
		for _, c := range conns {
			errs = append(errs, c.Close())
		}
		return errors.Join(errs...)
	}
	for range w.inFlight {
		conn, err := rpc.DialTCP("tcp", nil, l.nfsAddr())
		if err != nil {
			return nil, nil, errors.Join(err, end())
		}
		conns = append(conns, conn)
		c := &vmwareCaller{rpc: conn, auth: rpc.NewAuthUnix("compare", 0, 0).Auth()}
		if err := c.mount(l.path, w); err != nil {
			return nil, nil, errors.Join(err, end())
		}
		all = append(all, c)
	}
	return all, end, nil
}

func (c *vmwareCaller) header(prog, proc uint32) rpc.Header {
	return rpc.Header{Rpcvers: 2, Prog: prog, Vers: nfs.Nfs3Vers, Proc: proc, Cred: c.auth, Verf: rpc.AuthNull}
}

// call makes an NFS call and checks the status of its reply.
func (c *vmwareCaller) call(args any) (io.ReadSeeker, error) {
	res, err := c.rpc.Call(args)
	if err != nil {
		return nil, err
	}
	status, err := xdr.ReadUint32(res)
	if err != nil {
		return nil, err
	}
	return res, nfs.NFS3Error(status)
}

// mount looks up what w needs.
func (c *vmwareCaller) mount(path string, w workload) error {
	res, err := c.rpc.Call(&struct {
		rpc.Header
		Path string
	}{c.header(nfs.MountProg, nfs.MountProc3MNT), path})
	if err != nil {
		return err
	}
	if status, err := xdr.ReadUint32(res); err != nil || status != nfs.MNT3Ok {
		return fmt.Errorf("mount: status %d, %w", status, err)
	}
	root, err := xdr.ReadOpaque(res)
	if err != nil {
		return err
	}
	if w.op == opList {
		c.dir, err = c.lookup(root, dirName)
	} else {
		c.file, err = c.lookup(root, fileName)
	}
	return err
}

func (c *vmwareCaller) lookup(dir []byte, name string) ([]byte, error) {
	res, err := c.call(&struct {
		rpc.Header
		What nfs.Diropargs3
	}{c.header(nfs.Nfs3Prog, nfs.NFSProc3Lookup), nfs.Diropargs3{FH: dir, Filename: name}})
	if err != nil {
		return nil, err
	}
	return xdr.ReadOpaque(res)
}

func (c *vmwareCaller) null() error {
	_, err := c.rpc.Call(&struct{ rpc.Header }{c.header(nfs.Nfs3Prog, procNull)})
	return err
}

func (c *vmwareCaller) getAttr() error {
	res, err := c.call(&struct {
		rpc.Header
		FH []byte
	}{c.header(nfs.Nfs3Prog, procGetAttr), c.file})
	if err != nil {
		return err
	}
	return xdr.Read(res, new(nfs.Fattr))
}

func (c *vmwareCaller) read(off int64, p []byte) error {
	res, err := c.call(&struct {
		rpc.Header
		FH     []byte
		Offset uint64
		Count  uint32
	}{c.header(nfs.Nfs3Prog, nfs.NFSProc3Read), c.file, uint64(off), uint32(len(p))})
	if err != nil {
		return err
	}
	var ok struct {
		Attr   nfs.PostOpAttr
		Count  uint32
		EOF    uint32
		Length uint32
	}
	if err := xdr.Read(res, &ok); err != nil {
		return err
	}
	if int(ok.Length) != len(p) {
		return shortErr("read", int(ok.Length), p)
	}
	_, err = io.ReadFull(res, p)
	return err
}

func (c *vmwareCaller) write(off int64, p []byte) error {
	res, err := c.call(&struct {
		rpc.Header
		FH       []byte
		Offset   uint64
		Count    uint32
		How      uint32
		Contents []byte
	}{c.header(nfs.Nfs3Prog, nfs.NFSProc3Write), c.file, uint64(off), uint32(len(p)), 0, p})
	if err != nil {
		return err
	}
	var ok struct {
		Wcc   nfs.WccData
		Count uint32
		How   uint32
		Verf  uint64
	}
	if err := xdr.Read(res, &ok); err != nil {
		return err
	}
	if int(ok.Count) != len(p) {
		return shortErr("write", int(ok.Count), p)
	}
	return nil
}

// list does what Target.ReadDirPlus of its package nfs does, which keeps all entries.
func (c *vmwareCaller) list() (int, error) {
	var entries []*nfs.EntryPlus
	var cookie, verf uint64
	for eof := false; !eof; {
		res, err := c.call(&struct {
			rpc.Header
			FH                 []byte
			Cookie, CookieVerf uint64
			DirCount, MaxCount uint32
		}{c.header(nfs.Nfs3Prog, nfs.NFSProc3ReadDirPlus), c.dir, cookie, verf, vmwareDirCount, vmwareMaxCount})
		if err != nil {
			return 0, err
		}
		var ok struct {
			Attr nfs.PostOpAttr
			Verf uint64
		}
		if err := xdr.Read(res, &ok); err != nil {
			return 0, err
		}
		verf = ok.Verf
		for {
			var item struct {
				IsSet bool          `xdr:"union"`
				Entry nfs.EntryPlus `xdr:"unioncase=1"`
			}
			if err := xdr.Read(res, &item); err != nil {
				return 0, err
			}
			if !item.IsSet {
				break
			}
			cookie = item.Entry.Cookie
			entries = append(entries, &item.Entry)
		}
		if err := xdr.Read(res, &eof); err != nil {
			return 0, err
		}
	}
	n := 0
	for _, e := range entries {
		if e.FileName != "." && e.FileName != ".." {
			n++
		}
	}
	return n, nil
}
