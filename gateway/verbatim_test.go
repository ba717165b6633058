package gateway

import (
	"bytes"
	"encoding/binary"
	"reflect"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/recordmark"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// words is XDR of any content.
type words []uint32

func (w words) MarshalXDR(e *xdr.Encoder) {
	for _, v := range w {
		e.Uint32(v)
	}
}

// unplaced is a WRITE whose announced data is missing.
type unplaced struct{ nfs3.WriteArgs }

func (a *unplaced) MarshalXDR(e *xdr.Encoder) {
	a.File.MarshalXDR(e)
	e.Uint64(0)
	e.Uint32(a.Count)
	e.Uint32(0)
	e.Uint32(a.Count)
}

// trailing appends bytes to arguments.
type trailing struct {
	oncrpc.Marshaler
	tail []byte
}

func (a trailing) MarshalXDR(e *xdr.Encoder) {
	a.Marshaler.MarshalXDR(e)
	e.Raw(a.tail)
}

// TestVerbatim: for every call, the reply through the gateway equals that of a direct connection,
// and the call travels as its binding says.
func TestVerbatim(t *testing.T) {
	srv := nfsServer(t)
	rec := &recorder{dial: overRDMA(t, srv, rpcrdma.Config{})}
	direct := dialRawClient(t, overTCP(t, srv, recordmark.Config{}))
	g := start(t, Config{Dial: rec.Dial, MaxReply: 64 << 10}, recordmark.Config{})
	through := dialRawClient(t, g.addr)

	sys := rootCred(t)
	gss := oncrpc.Auth{Flavor: oncrpc.FlavorGSS, Body: []byte("a context of RPCSEC_GSS.")}
	data := pattern(50_001)
	c, root, h := file(t, dialTCP(t, overTCP(t, srv, recordmark.Config{})), data)
	link, err := c.Symlink(limited(t), root, "link", "where/it/leads", nfs3.Sattr{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(count uint32) *nfs3.ReadArgs { return &nfs3.ReadArgs{File: h, Count: count} }
	write := &nfs3.WriteArgs{File: h, Offset: 1 << 63, Count: uint32(len(data)),
		Data: [][]byte{data}} // too far, so that no times change
	const (
		generic = 64<<10 + headroom
		short   = replyHeader
	)
	for _, tt := range []struct {
		name string
		call oncrpc.CallHeader
		args oncrpc.Marshaler
		want handed // without the lengths of the call
	}{
		{"NULL", nfsCall(1, nfs3.ProcNull, oncrpc.Auth{}), nil, handed{maxReply: short}},
		{"XID 0", nfsCall(0, nfs3.ProcNull, oncrpc.Auth{}), nil, handed{maxReply: short}},
		{"GETATTR", nfsCall(2, nfs3.ProcGetAttr, sys), &nfs3.GetAttrArgs{File: h}, handed{maxReply: short + nfs3.GetAttrResMax}},
		{"GETATTR without credential", nfsCall(3, nfs3.ProcGetAttr, oncrpc.Auth{}), &nfs3.GetAttrArgs{File: h}, handed{maxReply: short + nfs3.GetAttrResMax}},
		{"GETATTR of garbage", nfsCall(4, nfs3.ProcGetAttr, sys), words{65}, handed{maxReply: short + nfs3.GetAttrResMax}},
		{"READ of little", nfsCall(5, nfs3.ProcRead, sys), read(100), handed{results: []int{100}, maxReply: short + nfs3.ReadResMax}},
		{"READ of much", nfsCall(6, nfs3.ProcRead, sys), read(60_000), handed{results: []int{60_000}, maxReply: short + nfs3.ReadResMax}},
		{"READ of an odd number", nfsCall(7, nfs3.ProcRead, sys), read(33_333), handed{results: []int{33_333}, maxReply: short + nfs3.ReadResMax}},
		{"READ of nothing", nfsCall(8, nfs3.ProcRead, sys), read(0), handed{maxReply: short + nfs3.ReadResMax}},
		{"READ of more than there is room for", nfsCall(9, nfs3.ProcRead, sys), read(1<<32 - 1), handed{results: []int{64 << 10}, maxReply: short + nfs3.ReadResMax}},
		{"READ of garbage", nfsCall(10, nfs3.ProcRead, sys), words{4, 1, 2}, handed{maxReply: generic}},
		{"READ with a tail", nfsCall(11, nfs3.ProcRead, sys), trailing{read(10), []byte("tail")}, handed{maxReply: generic}},
		{"READ of a directory", nfsCall(12, nfs3.ProcRead, sys), &nfs3.ReadArgs{File: root, Count: 9999}, handed{results: []int{9999}, maxReply: short + nfs3.ReadResMax}},
		{"READ with RPCSEC_GSS", nfsCall(13, nfs3.ProcRead, gss), read(60_000), handed{maxReply: generic}},
		{"READLINK", nfsCall(14, nfs3.ProcReadLink, sys), &nfs3.ReadLinkArgs{File: link.File}, handed{results: []int{4096}, maxReply: short + nfs3.ReadLinkResMax(0)}},
		{"READLINK of a file", nfsCall(15, nfs3.ProcReadLink, sys), &nfs3.ReadLinkArgs{File: h}, handed{results: []int{4096}, maxReply: short + nfs3.ReadLinkResMax(0)}},
		{"WRITE", nfsCall(16, nfs3.ProcWrite, sys), write, handed{bulk: []int{50_001}, maxReply: short + nfs3.WriteResMax}},
		{"WRITE with RPCSEC_GSS", nfsCall(17, nfs3.ProcWrite, gss), write, handed{maxReply: generic}},
		{"WRITE that ends early", nfsCall(18, nfs3.ProcWrite, sys), &unplaced{nfs3.WriteArgs{File: h, Count: 50_000}}, handed{maxReply: generic}},
		{"WRITE with a tail", nfsCall(19, nfs3.ProcWrite, sys), trailing{write, []byte("tail")}, handed{maxReply: generic}},
		{"WRITE of a false count", nfsCall(20, nfs3.ProcWrite, sys), &nfs3.WriteArgs{File: h, Count: 5, Data: [][]byte{data[:6]}}, handed{bulk: []int{6}, maxReply: short + nfs3.WriteResMax}},
		{"SYMLINK", nfsCall(21, nfs3.ProcSymlink, sys), &nfs3.SymlinkArgs{Where: nfs3.DirOp{Dir: root, Name: "link"}, Path: "path"}, handed{bulk: []int{4}, maxReply: short + nfs3.CreateResMax}},
		{"READDIR", nfsCall(22, nfs3.ProcReadDir, sys), &nfs3.ReadDirArgs{Dir: root, Count: 4096}, handed{maxReply: short + nfs3.ReadDirPlusResMax(4096)}},
		{"READDIRPLUS", nfsCall(23, nfs3.ProcReadDirPlus, sys), &nfs3.ReadDirPlusArgs{Dir: root, DirCount: 512, MaxCount: 8192}, handed{maxReply: short + nfs3.ReadDirPlusResMax(8192)}},
		{"READDIRPLUS of very much", nfsCall(24, nfs3.ProcReadDirPlus, sys), &nfs3.ReadDirPlusArgs{Dir: root, DirCount: 1 << 30, MaxCount: 1 << 31}, handed{maxReply: short + nfs3.ReadDirPlusResMax(64<<10)}},
		{"procedure 22", nfsCall(25, 22, sys), nil, handed{maxReply: short + 8}},
		{"NFS version 4", oncrpc.CallHeader{XID: 26, RPCVersion: 2, Program: nfs3.Program, Version: 4, Cred: sys}, nil, handed{maxReply: generic}},
		{"another program", oncrpc.CallHeader{XID: 27, RPCVersion: 2, Program: 100227, Version: 3, Cred: sys}, words{1, 2}, handed{maxReply: generic}},
		{"RPC version 3", oncrpc.CallHeader{XID: 28, RPCVersion: 3, Program: nfs3.Program, Version: 3}, nil, handed{maxReply: short + 8}},
		{"a credential that is none", nfsCall(29, nfs3.ProcGetAttr, oncrpc.Auth{Flavor: oncrpc.FlavorSys, Body: make([]byte, 8)}), nil, handed{maxReply: short + nfs3.GetAttrResMax}},
		{"an unknown flavour", nfsCall(30, nfs3.ProcNull, oncrpc.Auth{Flavor: 390_000, Body: make([]byte, 400)}), nil, handed{maxReply: generic}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := message(tt.call, tt.args)
			sent := bytes.Clone(p)
			if tt.name == "READ of more than there is room for" { // the direct server has more
				binary.BigEndian.PutUint32(sent[len(sent)-4:], 64<<10)
			}
			direct.send(sent)
			want := direct.next()
			through.send(p)
			got := through.next()
			same(t, got, want)
			if len(got) >= 4 && binary.BigEndian.Uint32(got) != tt.call.XID {
				t.Errorf("got transaction id %x, want %x", got[:4], tt.call.XID)
			}
			_, calls := rec.last()
			way := calls[len(calls)-1]
			rest := len(p)
			for _, n := range way.bulk {
				rest -= xdr.RoundUp(n)
			}
			tt.want.xid, tt.want.inline = tt.call.XID, rest
			if tt.call.RPCVersion == 2 && tt.call.Cred.Flavor <= oncrpc.FlavorSys {
				tt.want.xid ^= mark(through.LocalAddr())
			}
			if !reflect.DeepEqual(way, tt.want) {
				t.Errorf("got %+v, want %+v", way, tt.want)
			}
		})
	}
	if s := g.Stats(); s.Calls != s.Replies || s.Failed != 0 || s.Clients != 1 || s.Dials != 1 {
		t.Errorf("stats %+v", s)
	}
}

// Messages that end within the header are passed on, too.
func TestTruncated(t *testing.T) {
	srv := nfsServer(t)
	direct := dialRawClient(t, overTCP(t, srv, recordmark.Config{}))
	g := start(t, Config{Dial: overRDMA(t, srv, rpcrdma.Config{})}, recordmark.Config{})
	through := dialRawClient(t, g.addr)
	p := message(nfsCall(7, nfs3.ProcGetAttr, rootCred(t)), &nfs3.GetAttrArgs{})
	for n := 8; n <= len(p); n++ {
		direct.send(p[:n])
		through.send(p[:n])
		same(t, through.next(), direct.next())
	}
}
