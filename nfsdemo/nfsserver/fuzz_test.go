package nfsserver_test

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// FuzzArgs sends arbitrary arguments to each procedure of NFS and MOUNT. The server answers with
// GARBAGE_ARGS or with results that decode, and does not panic.
//
// Real handles get further than invented ones. which selects the handles that replace those in the
// arguments, four bits each.
func FuzzArgs(f *testing.F) {
	seed := newWorld(f)
	for i, op := range operations {
		args := encode(op.args(seed.root, seed.root, "name"))
		f.Add(uint32(op.proc), uint16(i), args)
		f.Add(uint32(op.proc), uint16(0x11), args[:len(args)/2&^3])
	}
	for _, p := range []mount3.Proc{mount3.ProcMnt, mount3.ProcUmnt} {
		f.Add(nfs3.Procs+uint32(p), uint16(0), encode(&mount3.MntArgs{Path: "/dir/../dir"}))
	}
	for _, p := range []mount3.Proc{mount3.ProcNull, mount3.ProcUmntAll, mount3.ProcDump, mount3.ProcExport} {
		f.Add(nfs3.Procs+uint32(p), uint16(0), []byte{})
	}
	f.Fuzz(func(t *testing.T, proc uint32, which uint16, args []byte) {
		w := newWorld(t)
		s, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}})
		if err != nil {
			t.Fatal(err)
		}
		rpc := oncrpc.NewServer(oncrpc.ServerConfig{Logger: slog.New(slog.DiscardHandler)})
		rpc.Handle(s.Programs()...)
		defer rpc.Shutdown(context.Background())
		conn := pipe.New(rpc, pipe.Inline)

		args = args[:len(args)&^3]
		w.putHandles(args, which)
		program := nfsOn(conn, auth(t, 0))
		if proc %= nfs3.Procs + mount3.Procs; proc >= nfs3.Procs {
			program = mountOn(conn, auth(t, 0))
		}
		var reply raw
		err = program.Do(t.Context(), &oncrpc.Request{Procedure: proc % nfs3.Procs, Args: raw(args), Reply: &reply, MaxReply: 4 << 20})
		var accept *oncrpc.AcceptError
		if err != nil && (!errors.As(err, &accept) || accept.Stat != oncrpc.GarbageArgs) {
			t.Fatalf("procedure %d: %v", proc, err)
		}
		if n := rpc.Stats().Panics; n > 0 {
			t.Errorf("procedure %d: %d panics", proc, n)
		}
		if err == nil {
			decodes(t, proc, reply)
		}
	})
}

// putHandles replaces bytes that look like handles of this file system.
func (w *world) putHandles(args []byte, which uint16) {
	all := []nfs3.FH{w.root, w.file, w.dir, w.symlink, w.fifo, w.stale, w.foreign, w.inside}
	for len(args) >= 4+w.root.Len() && which > 0 {
		if binary.BigEndian.Uint32(args) != uint32(w.root.Len()) {
			args = args[4:]
			continue
		}
		args = args[4:]
		copy(args, all[int(which&15)%len(all)].Bytes())
		args = args[w.root.Len():]
		which >>= 4
	}
}

// decodes checks the results of a procedure. The procedures of MOUNT are numbered after those of
// NFS.
func decodes(t *testing.T, proc uint32, reply []byte) {
	res := map[uint32]oncrpc.Unmarshaler{
		nfs3.Procs + uint32(mount3.ProcMnt):    new(mount3.MntRes),
		nfs3.Procs + uint32(mount3.ProcDump):   new(mount3.DumpRes),
		nfs3.Procs + uint32(mount3.ProcExport): new(mount3.ExportRes),
	}
	for _, op := range operations {
		res[uint32(op.proc)] = op.res()
	}
	res[uint32(nfs3.ProcRead)] = &nfs3.ReadRes{Into: make([]byte, nfsserver.DefaultTransfer)}
	d := xdr.NewDecoder(reply)
	if r := res[proc]; r != nil {
		r.UnmarshalXDR(d)
	}
	if err := d.Finish(); err != nil {
		t.Errorf("procedure %d: results %x: %v", proc, reply, err)
	}
}
