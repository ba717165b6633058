package nfsserver_test

import (
	"context"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// results are the results of any procedure.
type results interface {
	oncrpc.Unmarshaler
	StatusPtr() *nfs3.Status
}

// operation is a procedure with valid arguments for a handle and a name. other is a directory, for
// procedures that take two handles.
type operation struct {
	proc    nfs3.Proc
	variant string // distinguishes operations of the same procedure
	args    func(h, other nfs3.FH, name string) oncrpc.Marshaler
	res     func() results
	named   bool // takes a name, in the directory h
	changes bool // changes something
}

func (o *operation) String() string { return o.proc.String() + o.variant }

func newOf[R any, P interface {
	*R
	results
}]() results {
	return P(new(R))
}

func at(dir nfs3.FH, name string) nfs3.DirOp { return nfs3.DirOp{Dir: dir, Name: name} }

// operations are all procedures except NULL.
var operations = []operation{
	{proc: nfs3.ProcGetAttr, res: newOf[nfs3.GetAttrRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.GetAttrArgs{File: h}
	}},
	{proc: nfs3.ProcSetAttr, res: newOf[nfs3.SetAttrRes], changes: true, args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.SetAttrArgs{File: h, Set: nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: 0o777}}}
	}},
	{proc: nfs3.ProcLookup, res: newOf[nfs3.LookupRes], named: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.LookupArgs{What: at(h, name)}
	}},
	{proc: nfs3.ProcAccess, res: newOf[nfs3.AccessRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.AccessArgs{File: h, Want: nfs3.AccessAll}
	}},
	{proc: nfs3.ProcReadLink, res: newOf[nfs3.ReadLinkRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.ReadLinkArgs{File: h}
	}},
	{proc: nfs3.ProcRead, res: func() results { return &nfs3.ReadRes{Into: make([]byte, 100)} }, args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.ReadArgs{File: h, Count: 100}
	}},
	{proc: nfs3.ProcWrite, res: newOf[nfs3.WriteRes], changes: true, args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.WriteArgs{File: h, Count: 5, Data: [][]byte{[]byte("bytes")}}
	}},
	{proc: nfs3.ProcCreate, res: newOf[nfs3.CreateRes], named: true, changes: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.CreateArgs{Where: at(h, name), How: nfs3.CreateHow{Mode: nfs3.Guarded}}
	}},
	{proc: nfs3.ProcCreate, variant: " exclusive", res: newOf[nfs3.CreateRes], named: true, changes: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.CreateArgs{Where: at(h, name), How: nfs3.CreateHow{Mode: nfs3.Exclusive, Verf: nfs3.Verifier{1}}}
	}},
	{proc: nfs3.ProcMkdir, res: newOf[nfs3.CreateRes], named: true, changes: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.MkdirArgs{Where: at(h, name)}
	}},
	{proc: nfs3.ProcSymlink, res: newOf[nfs3.CreateRes], named: true, changes: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.SymlinkArgs{Where: at(h, name), Path: "to/somewhere"}
	}},
	{proc: nfs3.ProcMknod, res: newOf[nfs3.CreateRes], named: true, changes: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.MknodArgs{Where: at(h, name), Type: nfs3.TypeFIFO}
	}},
	{proc: nfs3.ProcMknod, variant: " device", res: newOf[nfs3.CreateRes], named: true, changes: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.MknodArgs{Where: at(h, name), Type: nfs3.TypeChr, Rdev: nfs3.Specdata{Major: 1, Minor: 3}}
	}},
	{proc: nfs3.ProcRemove, res: newOf[nfs3.RemoveRes], named: true, changes: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.RemoveArgs{What: at(h, name)}
	}},
	{proc: nfs3.ProcRmdir, res: newOf[nfs3.RemoveRes], named: true, changes: true, args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.RemoveArgs{What: at(h, name)}
	}},
	{proc: nfs3.ProcRename, variant: " from", res: newOf[nfs3.RenameRes], named: true, changes: true, args: func(h, other nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.RenameArgs{From: at(h, name), To: at(other, "new")}
	}},
	{proc: nfs3.ProcRename, variant: " to", res: newOf[nfs3.RenameRes], named: true, changes: true, args: func(h, other nfs3.FH, name string) oncrpc.Marshaler {
		return &nfs3.RenameArgs{From: at(other, "file"), To: at(h, name)}
	}},
	{proc: nfs3.ProcLink, res: newOf[nfs3.LinkRes], changes: true, args: func(h, other nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.LinkArgs{File: h, Where: at(other, "new")}
	}},
	{proc: nfs3.ProcReadDir, res: newOf[nfs3.ReadDirRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.ReadDirArgs{Dir: h, Count: 4000}
	}},
	{proc: nfs3.ProcReadDirPlus, res: newOf[nfs3.ReadDirPlusRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.ReadDirPlusArgs{Dir: h, DirCount: 1000, MaxCount: 4000}
	}},
	{proc: nfs3.ProcFSStat, res: newOf[nfs3.FSStatRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.FSStatArgs{Root: h}
	}},
	{proc: nfs3.ProcFSInfo, res: newOf[nfs3.FSInfoRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.FSInfoArgs{Root: h}
	}},
	{proc: nfs3.ProcPathConf, res: newOf[nfs3.PathConfRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.PathConfArgs{File: h}
	}},
	{proc: nfs3.ProcCommit, res: newOf[nfs3.CommitRes], args: func(h, _ nfs3.FH, _ string) oncrpc.Marshaler {
		return &nfs3.CommitArgs{File: h}
	}},
}

// linkInto is LINK with h as the directory of the new name.
func linkInto(file nfs3.FH) operation {
	return operation{proc: nfs3.ProcLink, variant: " into", res: newOf[nfs3.LinkRes], named: true, changes: true,
		args: func(h, _ nfs3.FH, name string) oncrpc.Marshaler {
			return &nfs3.LinkArgs{File: file, Where: at(h, name)}
		}}
}

// nfsOn returns a client of the NFS program that returns results as they are on the wire.
func nfsOn(conn oncrpc.Transport, cred oncrpc.ClientFlavor) *oncrpc.Client {
	return oncrpc.NewClient(conn, nfs3.Program, nfs3.Version, cred)
}

// do calls a procedure and returns the status of its results.
func do(tb testing.TB, c *oncrpc.Client, p nfs3.Proc, args oncrpc.Marshaler, res results) nfs3.Status {
	tb.Helper()
	if err := c.Do(context.Background(), &oncrpc.Request{Procedure: uint32(p), Args: args, Reply: res, MaxReply: 2 << 20}); err != nil {
		tb.Fatalf("%v: %v", p, err)
	}
	return *res.StatusPtr()
}

// attrOf returns the attributes that GETATTR returns.
func attrOf(tb testing.TB, c *oncrpc.Client, h nfs3.FH) nfs3.Fattr {
	tb.Helper()
	var res nfs3.GetAttrRes
	if s := do(tb, c, nfs3.ProcGetAttr, &nfs3.GetAttrArgs{File: h}, &res); s != nfs3.OK {
		tb.Fatalf("GETATTR: %v", s)
	}
	return res.Attr
}

// raw is arguments or results as bytes.
type raw []byte

func (r raw) MarshalXDR(e *xdr.Encoder)    { e.Raw(r) }
func (r *raw) UnmarshalXDR(d *xdr.Decoder) { *r = append((*r)[:0], d.Raw(d.Remaining())...) }

func encode(m oncrpc.Marshaler) []byte {
	var e xdr.Encoder
	m.MarshalXDR(&e)
	msg := e.Message()
	return msg.AppendTo(nil)
}

// TestOperations checks that there is an operation for every procedure except NULL.
func TestOperations(t *testing.T) {
	have := make(map[nfs3.Proc]bool)
	for i := range operations {
		have[operations[i].proc] = true
	}
	for p := nfs3.ProcNull + 1; p < nfs3.Procs; p++ {
		if !have[p] {
			t.Errorf("no operation for %v", p)
		}
	}
}
