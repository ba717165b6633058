package vfstest

import (
	"context"
	"errors"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// Read returns a copy of the data that fs.Read returns.
func Read(ctx context.Context, fs vfs.FS, c *vfs.Cred, h nfs3.FH, off uint64, n int) ([]byte, bool, error) {
	var r vfs.ReadResult
	err := fs.Read(ctx, c, h, off, n, &r)
	p := []byte{}
	for _, s := range r.Data {
		p = append(p, s...)
	}
	if r.Release != nil {
		r.Release.Release()
	}
	return p, r.EOF, err
}

// Bulk returns data for Write that has arrived already.
func Bulk(p []byte) xdr.Bulk { return decoded(p, nil) }

// LazyBulk returns data for Write that is fetched from p. The fetch calls before first, and fails
// with its error.
func LazyBulk(p []byte, before func() error) xdr.Bulk { return decoded(p, &source{p, before}) }

func decoded(p []byte, src *source) xdr.Bulk {
	var e xdr.Encoder
	e.BulkBytes(p, nil)
	m := e.Message()
	d := xdr.NewDecoder(nil)
	if src != nil {
		d.Reset(m.Inline, []xdr.Chunk{{Position: 4, Len: len(p), Source: src}})
	} else {
		d.Reset(m.AppendTo(nil), nil)
	}
	return d.Bulk(len(p))
}

type source struct {
	p      []byte
	before func() error
}

func (s *source) Fetch(_ context.Context, _, n int, dst [][]byte, _ xdr.BulkWatcher) error {
	if err := s.before(); err != nil {
		return err
	}
	rest := s.p[:n]
	for _, d := range dst {
		rest = rest[copy(d, rest):]
	}
	return nil
}

func (s *source) Load(context.Context, int, int, bool, xdr.BulkWatcher) ([]byte, xdr.Releaser,
	error) {
	return nil, nil, errors.New("vfstest: a file system fetches into memory of its own")
}
