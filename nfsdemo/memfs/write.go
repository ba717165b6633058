package memfs

import (
	"context"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// stage has the data of one WRITE in new pages, one for each block that it touches.
type stage struct {
	fs     *FS
	pieces []piece
	dst    [][]byte // the pieces' bytes
}

// piece is data for one block, at the beginning of a page.
type piece struct {
	block uint64
	in    int // offset in the block
	n     int
	page  *page // nil after the block has taken it
}

// newStage returns a stage for n bytes at off.
func (fs *FS) newStage(off uint64, n int) *stage {
	s, _ := fs.stages.Get().(*stage)
	if s == nil {
		s = &stage{fs: fs}
	}
	for n > 0 {
		p := piece{block: off / blockSize, in: int(off % blockSize)}
		p.n = min(n, blockSize-p.in)
		p.page = fs.pages.get(p.n)
		s.pieces = append(s.pieces, p)
		s.dst = append(s.dst, p.page.buf[:p.n:p.n])
		off += uint64(p.n)
		n -= p.n
	}
	return s
}

// free recycles the stage, and the pages that no block has taken.
func (s *stage) free() {
	for _, p := range s.pieces {
		if p.page != nil {
			p.page.drop()
		}
	}
	clear(s.pieces)
	s.pieces = s.pieces[:0]
	clear(s.dst)
	s.dst = s.dst[:0]
	s.fs.stages.Put(s)
}

// Write fetches the data into new pages, and then makes them the file's.
func (fs *FS) Write(
	ctx context.Context, c *vfs.Cred, h nfs3.FH, off uint64, data xdr.Bulk, how nfs3.StableHow,
) (vfs.WriteResult, error) {
	// Nothing here is more durable than memory, so grant what was asked for.
	r := vfs.WriteResult{Committed: how}
	n, err := fs.rlock(&h)
	if err != nil {
		return r, err
	}
	r.Wcc = n.same()
	err = n.mayWriteAt(c, off, data.Len())
	n.mu.RUnlock()
	if err != nil || data.Len() == 0 {
		return r, err
	}

	s := fs.newStage(off, data.Len())
	defer s.free()
	if err := data.FetchInto(ctx, s.dst); err != nil {
		return r, err
	}

	n.mu.Lock()
	defer n.mu.Unlock()
	if n.nlink == 0 { // gone meanwhile
		r.Wcc = nfs3.WccData{}
		return r, nfs3.ErrStale
	}
	r.Wcc.Before = n.pre()
	if err = n.mayWriteAt(c, off, data.Len()); err == nil {
		err = n.install(s)
	}
	if err == nil {
		r.Count = uint32(data.Len())
		n.size = max(n.size, off+uint64(data.Len()))
		n.modified()
		n.mode = n.perm().ModeWritten(c)
	}
	r.Wcc.After = n.post()
	return r, err
}

// mayWriteAt checks whether c may make a WRITE. n.mu is held.
func (n *node) mayWriteAt(c *vfs.Cred, off uint64, count int) error {
	if err := n.isFile(); err != nil {
		return err
	}
	if !n.perm().CanWriteData(c) {
		return nfs3.ErrAcces
	}
	if off > MaxFileSize || uint64(count) > MaxFileSize-off {
		return nfs3.ErrFBig
	}
	return nil
}

// install puts all pieces into their blocks, or none if the file system is full. n.mu is held.
func (n *node) install(s *stage) error {
	var more int64
	for i := range s.pieces {
		p := &s.pieces[i]
		old := n.blocks[p.block]
		more += int64(sizeWith(old, p)) - int64(sizeOf(old))
	}
	if !n.fs.charge(more) {
		return nfs3.ErrNoSpc
	}
	n.held += more
	if n.blocks == nil {
		n.blocks = make(map[uint64]*page)
	}
	for i := range s.pieces {
		n.put(&s.pieces[i])
	}
	return nil
}

// sizeOf returns the bytes that a block is charged for.
func sizeOf(p *page) int {
	if p == nil {
		return 0
	}
	return len(p.buf)
}

// replaces reports whether a piece can replace a page: it begins the block, and covers all data in
// the page.
func (p *piece) replaces(old *page) bool { return p.in == 0 && (old == nil || p.n >= old.n) }

// fits reports whether a piece can be copied into a page.
func (p *piece) fits(old *page) bool { return old != nil && p.in+p.n <= len(old.buf) }

// sizeWith returns the size of the page that put leaves in the block.
func sizeWith(old *page, p *piece) int {
	switch {
	case p.replaces(old):
		return len(p.page.buf)
	case p.fits(old):
		return len(old.buf)
	}
	return pageSize(p.in + p.n)
}

// put puts a piece into its block; n.mu is held.
func (n *node) put(p *piece) {
	old := n.blocks[p.block]
	if p.replaces(old) {
		p.page.n = p.n
		n.blocks[p.block] = p.page
		p.page = nil
		if old != nil {
			old.drop()
		}
		return
	}
	to := old
	if !p.fits(old) || old.shared() {
		// The page is too small, or a reader has it, so it must not change.
		to = n.fs.pages.get(sizeWith(old, p))
		if old != nil {
			to.n = copy(to.buf, old.buf[:old.n])
			old.drop()
		}
		n.blocks[p.block] = to
	}
	if to.n < p.in {
		clear(to.buf[to.n:p.in])
	}
	copy(to.buf[p.in:], p.page.buf[:p.n])
	to.n = max(to.n, p.in+p.n)
}

// Commit does nothing, because memory is all there is.
func (fs *FS) Commit(_ context.Context, c *vfs.Cred, h nfs3.FH, _ uint64, _ uint32) (nfs3.WccData, error) {
	n, err := fs.rlock(&h)
	if err != nil {
		return nfs3.WccData{}, err
	}
	defer n.mu.RUnlock()
	wcc := n.same()
	if err := n.isFile(); err != nil {
		return wcc, err
	}
	if !n.perm().CanWriteData(c) {
		return wcc, nfs3.ErrAcces
	}
	return wcc, nil
}
