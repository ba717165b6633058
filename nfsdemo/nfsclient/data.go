package nfsclient

import (
	"context"
	"math"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// ReadResult is the result of Read.
type ReadResult struct {
	N    int  // bytes read
	EOF  bool // the file ends there
	Attr nfs3.PostOpAttr
}

// readCall is the memory of one READ.
type readCall struct {
	req  oncrpc.Request
	args nfs3.ReadArgs
	res  nfs3.ReadRes
}

// Read reads up to len(p) bytes at offset off. If the transport can, it puts the data directly into
// p. Read returns only when the transport no longer uses p.
func (c *Client) Read(ctx context.Context, h nfs3.FH, off uint64, p []byte) (ReadResult, error) {
	x, _ := c.reads.Get().(*readCall)
	if x == nil {
		x = new(readCall)
	}
	p = p[:min(len(p), math.MaxInt32)]
	x.args = nfs3.ReadArgs{File: h, Offset: off, Count: uint32(len(p))}
	x.res.Into = p
	x.req = oncrpc.Request{
		Procedure: uint32(nfs3.ProcRead), Args: &x.args, Reply: &x.res, MayRepeat: true}
	err := c.do(ctx, "", &x.req, &x.res)
	r := ReadResult{int(x.res.Count), x.res.EOF, x.res.Attr}
	*x = readCall{}
	c.reads.Put(x)
	if err != nil {
		return ReadResult{}, err
	}
	return r, nil
}

// WriteResult is the result of Write.
type WriteResult struct {
	N         int // bytes written, maybe fewer than len(p)
	Committed nfs3.StableHow
	Verf      nfs3.Verifier
	Wcc       nfs3.WccData
}

// writeCall is the memory of one WRITE.
type writeCall struct {
	req  oncrpc.Request
	args nfs3.WriteArgs
	res  nfs3.WriteRes
	data [1][]byte
}

// Write writes p at offset off. The server may write only a part. p must not change until Write
// returns.
func (c *Client) Write(
	ctx context.Context, h nfs3.FH, off uint64, p []byte, how nfs3.StableHow,
) (WriteResult, error) {
	x, _ := c.writes.Get().(*writeCall)
	if x == nil {
		x = new(writeCall)
	}
	p = p[:min(len(p), math.MaxInt32)]
	x.data[0] = p
	x.args = nfs3.WriteArgs{
		File: h, Offset: off, Count: uint32(len(p)), Stable: how, Data: x.data[:],
	}
	x.req = oncrpc.Request{Procedure: uint32(nfs3.ProcWrite), Args: &x.args, Reply: &x.res,
		MaxReply: nfs3.ProcWrite.Info().MaxReply, MayRepeat: true, Once: true}
	err := c.do(ctx, "", &x.req, &x.res)
	r := WriteResult{int(min(x.res.Count, uint32(len(p)))), x.res.Committed, x.res.Verf, x.res.Wcc}
	*x = writeCall{}
	c.writes.Put(x)
	if err != nil {
		return WriteResult{}, err
	}
	return r, nil
}
