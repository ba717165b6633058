package nfsserver_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// raw is arguments or results as bytes.
type raw []byte

func (r raw) MarshalXDR(e *xdr.Encoder)    { e.Raw(r) }
func (r *raw) UnmarshalXDR(d *xdr.Decoder) { *r = append((*r)[:0], d.Raw(d.Remaining())...) }

// validArgs returns arguments of each procedure that is served.
func validArgs(h nfs3.FH) map[nfs3.Proc]oncrpc.Marshaler {
	return map[nfs3.Proc]oncrpc.Marshaler{
		nfs3.ProcGetAttr:     &nfs3.GetAttrArgs{File: h},
		nfs3.ProcSetAttr:     &nfs3.SetAttrArgs{File: h},
		nfs3.ProcLookup:      &nfs3.LookupArgs{What: nfs3.DirOp{Dir: h, Name: "name"}},
		nfs3.ProcAccess:      &nfs3.AccessArgs{File: h},
		nfs3.ProcRead:        &nfs3.ReadArgs{File: h, Count: 100},
		nfs3.ProcWrite:       &nfs3.WriteArgs{File: h, Count: 5, Data: [][]byte{[]byte("bytes")}},
		nfs3.ProcCreate:      &nfs3.CreateArgs{Where: nfs3.DirOp{Dir: h, Name: "name"}},
		nfs3.ProcMkdir:       &nfs3.MkdirArgs{Where: nfs3.DirOp{Dir: h, Name: "name"}},
		nfs3.ProcReadDirPlus: &nfs3.ReadDirPlusArgs{Dir: h, DirCount: 1000, MaxCount: 4000},
		nfs3.ProcFSStat:      &nfs3.FSStatArgs{Root: h},
		nfs3.ProcFSInfo:      &nfs3.FSInfoArgs{Root: h},
		nfs3.ProcPathConf:    &nfs3.PathConfArgs{File: h},
		nfs3.ProcCommit:      &nfs3.CommitArgs{File: h},
	}
}

func encode(m oncrpc.Marshaler) []byte {
	var e xdr.Encoder
	m.MarshalXDR(&e)
	msg := e.Message()
	return msg.AppendTo(nil)
}

func TestUnavailable(t *testing.T) {
	fs := newFS(t)
	conn := pipe.New(serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Squash: nfsserver.SquashNone}}}), pipe.Inline)
	nfs := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, auth(t, 0))
	valid := validArgs(fs.Root())
	for p := range nfs3.Proc(nfs3.Procs + 1) {
		if p == nfs3.ProcNull || valid[p] != nil {
			continue
		}
		var accept *oncrpc.AcceptError
		if err := nfs.Call(t.Context(), uint32(p), nil, nil); !errors.As(err, &accept) || accept.Stat != oncrpc.ProcUnavail {
			t.Errorf("%v: %v", p, err)
		}
	}
	for _, program := range [][2]uint32{{nfs3.Program, nfs3.Version}, {mount3.Program, mount3.Version}} {
		if err := oncrpc.NewClient(conn, program[0], program[1], oncrpc.AuthNone()).Call(t.Context(), 0, nil, nil); err != nil {
			t.Errorf("NULL: %v", err)
		}
	}
}

// TestGarbage: arguments that are cut off, or go on, are refused as what they are.
func TestGarbage(t *testing.T) {
	fs := newFS(t)
	conn := pipe.New(serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Squash: nfsserver.SquashNone}}}), pipe.Inline)
	check := func(c *oncrpc.Client, proc uint32, args []byte) {
		t.Helper()
		var accept *oncrpc.AcceptError
		err := c.Do(t.Context(), &oncrpc.Request{Procedure: proc, Args: raw(args), MaxReply: 1 << 16})
		if !errors.As(err, &accept) || accept.Stat != oncrpc.GarbageArgs {
			t.Errorf("procedure %d, %x: %v", proc, args, err)
		}
	}
	nfs := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, auth(t, 0))
	for p, args := range validArgs(fs.Root()) {
		b := encode(args)
		for n := 0; n < len(b); n += 4 {
			check(nfs, uint32(p), b[:n])
		}
		check(nfs, uint32(p), append(b, 0, 0, 0, 0))
	}
	mount := oncrpc.NewClient(conn, mount3.Program, mount3.Version, auth(t, 0))
	check(mount, uint32(mount3.ProcMnt), nil)
	check(mount, uint32(mount3.ProcMnt), encode(&mount3.MntArgs{Path: "/abc"})[:4])
	if _, err := fs.GetAttr(t.Context(), fs.Root()); err != nil {
		t.Error(err)
	}
}

// FuzzArgs sends anything to each procedure. The server answers, does not panic, and
// what it answers with success decodes.
func FuzzArgs(f *testing.F) {
	fs := newFS(f)
	conn := pipe.New(serve(f, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Squash: nfsserver.SquashNone}}}), pipe.Inline)
	c := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, auth(f, 0))
	for p, args := range validArgs(fs.Root()) {
		f.Add(uint32(p), encode(args))
	}
	f.Fuzz(func(t *testing.T, proc uint32, args []byte) {
		proc %= nfs3.Procs
		// Real handles get further than invented ones: the root's takes the place of one of its length.
		if h := fs.Root(); len(args) >= 4+h.Len() && int(args[3]) == h.Len() {
			copy(args[4:], h.Bytes())
		}
		var reply raw
		err := c.Do(t.Context(), &oncrpc.Request{Procedure: proc, Args: raw(args[:len(args)&^3]), Reply: &reply, MaxReply: 2 << 20})
		var accept *oncrpc.AcceptError
		switch {
		case err == nil && proc != 0 && len(reply) < 4:
			t.Fatalf("%v: %d bytes of results", nfs3.Proc(proc), len(reply))
		case err != nil && (!errors.As(err, &accept) || accept.Stat != oncrpc.GarbageArgs && accept.Stat != oncrpc.ProcUnavail):
			t.Fatalf("%v: %v", nfs3.Proc(proc), err)
		}
	})
}

// TestReadDirPlus: results keep to the size that the client allows, and get on.
func TestReadDirPlus(t *testing.T) {
	fs := newFS(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Squash: nfsserver.SquashNone}}, MaxRead: 16 << 10})
	conn := pipe.New(rpc, pipe.Inline)
	c := nfsclient.New(conn, auth(t, 0))
	const files = 150
	for i := range files {
		if _, err := c.Create(t.Context(), fs.Root(), fmt.Sprintf("file%0*d", i, i), nfs3.CreateHow{}); err != nil {
			t.Fatal(err)
		}
	}
	nfs := oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, auth(t, 0))
	for _, tt := range []struct {
		dir, max uint32
		calls    int // at least
		err      nfs3.Status
	}{
		{1 << 20, 1 << 20, 3, nfs3.OK}, // MaxRead holds
		{1 << 20, 8192, 5, nfs3.OK},
		{1 << 20, 512, 100, nfs3.OK},
		{1000, 1 << 20, 10, nfs3.OK},
		{0, 1 << 20, files, nfs3.OK},
		{1 << 20, 200, 1, nfs3.ErrTooSmall},
		{1 << 20, 0, 1, nfs3.ErrTooSmall},
	} {
		args := nfs3.ReadDirPlusArgs{Dir: fs.Root(), DirCount: tt.dir, MaxCount: tt.max}
		seen, calls := 0, 0
		for {
			var reply raw
			if err := nfs.Do(t.Context(), &oncrpc.Request{Procedure: uint32(nfs3.ProcReadDirPlus), Args: &args, Reply: &reply, MaxReply: 1 << 21}); err != nil {
				t.Fatal(err)
			}
			calls++
			var res nfs3.ReadDirPlusRes
			d := xdr.NewDecoder(reply)
			res.UnmarshalXDR(d)
			if err := d.Finish(); err != nil {
				t.Fatal(err)
			}
			if res.Status != nfs3.OK {
				if res.Status != tt.err {
					t.Errorf("%+v: %v", tt, res.Status)
				}
				break
			}
			if most := min(tt.max, 16<<10); uint32(len(reply)) > 4+most {
				t.Errorf("%+v: %d bytes", tt, len(reply))
			}
			seen += len(res.Entries)
			if res.EOF {
				break
			}
			args.Cookie, args.Verf = res.Entries[len(res.Entries)-1].Cookie, res.Verf
		}
		if tt.err == nfs3.OK && seen != files+2 || calls < tt.calls {
			t.Errorf("%+v: %d entries in %d calls", tt, seen, calls)
		}
	}
}
