package iofs

import (
	"container/list"
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// Read returns a copy of the data, or a part of contents that are kept.
func (r *reader) Read(
	_ context.Context, c *vfs.Cred, h nfs3.FH, off uint64, n int, res *vfs.ReadResult,
) error {
	f, err := r.find(&h)
	if err != nil {
		return err
	}
	res.Attr = nfs3.PostOpAttrOf(f.attr)
	switch {
	case f.attr.Type == nfs3.TypeDir:
		return nfs3.ErrIsDir
	case f.attr.Type != nfs3.TypeReg:
		return nfs3.ErrInval
	case !vfs.PermOf(&f.attr).CanReadData(c):
		return nfs3.ErrAcces
	case off >= f.attr.Size:
		res.EOF = true
		return nil
	}
	n = int(min(uint64(max(n, 0)), f.attr.Size-off))
	if n == 0 {
		return nil
	}
	data, err := r.data(&f, int64(off), n)
	if err != nil {
		return statusOf("read", err)
	}
	res.Data = append(res.Data, data)
	res.EOF = len(data) < n || off+uint64(len(data)) >= f.attr.Size
	return nil
}

// data returns up to n bytes at off.
func (r *reader) data(f *file, off int64, n int) ([]byte, error) {
	whole := version{f.number, f.attr.Size, f.attr.Mtime}
	if p, ok := r.contents.get(whole); ok {
		return p[min(off, int64(len(p))):][:min(int64(n), max(0, int64(len(p))-off))], nil
	}
	in, err := r.files.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if at, ok := in.(io.ReaderAt); ok {
		return readAt(at, off, n)
	}
	if int64(f.attr.Size) > r.contents.limit {
		return readOn(in, off, n)
	}
	p, err := io.ReadAll(io.LimitReader(in, int64(f.attr.Size)))
	if err != nil {
		return nil, err
	}
	r.contents.add(whole, p)
	return p[min(off, int64(len(p))):][:min(int64(n), max(0, int64(len(p))-off))], nil
}

func readAt(in io.ReaderAt, off int64, n int) ([]byte, error) {
	p := make([]byte, n)
	got, err := in.ReadAt(p, off)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return p[:got], err
}

// readOn reads n bytes at off, by reading from the beginning.
func readOn(in fs.File, off int64, n int) ([]byte, error) {
	if _, err := io.CopyN(io.Discard, in, off); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, nil
		}
		return nil, err
	}
	p := make([]byte, n)
	got, err := io.ReadFull(in, p)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return p[:got], err
}

// contents keeps the contents of files without ReadAt, the most recently used ones.
type contents struct {
	limit int64 // bytes

	mu    sync.Mutex // guards what follows
	bytes int64
	lru   list.List // of *content, the most recently used first
	known map[version]*list.Element
}

// version identifies the contents of a file at a time.
type version struct {
	number, size uint64
	mtime        nfs3.Time
}

type content struct {
	version
	data []byte
}

func (c *contents) get(v version) ([]byte, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.known[v]
	if e == nil {
		return nil, false
	}
	c.lru.MoveToFront(e)
	return e.Value.(*content).data, true
}

func (c *contents) add(v version, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[v] != nil {
		return
	}
	if c.known == nil {
		c.known = make(map[version]*list.Element)
	}
	c.known[v] = c.lru.PushFront(&content{v, data})
	c.bytes += int64(len(data))
	for c.bytes > c.limit {
		last := c.lru.Remove(c.lru.Back()).(*content)
		delete(c.known, last.version)
		c.bytes -= int64(len(last.data))
	}
}
