package memfs

// truncate sets the size. A file that grows ends in a hole. n.mu is held.
func (n *node) truncate(size uint64) {
	if size < n.size {
		n.cut(size)
	}
	n.size = size
}

// cut drops the data from offset size on.
func (n *node) cut(size uint64) {
	first, rest := size/blockSize, int(size%blockSize)
	if rest > 0 {
		n.cutBlock(first, rest)
		first++
	}
	last := (n.size - 1) / blockSize // size < n.size
	if first > last {
		return
	}
	if last-first < uint64(len(n.blocks)) {
		for b := first; b <= last; b++ {
			n.removeBlock(b)
		}
		return
	}
	// A file with large holes has fewer pages than blocks.
	for b := range n.blocks {
		if b >= first {
			n.removeBlock(b)
		}
	}
}

func (n *node) removeBlock(b uint64) {
	p := n.blocks[b]
	if p == nil {
		return
	}
	delete(n.blocks, b)
	n.release(len(p.buf))
	p.drop()
}

// cutBlock keeps at most rest bytes of a block, in a page of that size.
func (n *node) cutBlock(b uint64, rest int) {
	p := n.blocks[b]
	if p == nil || p.n <= rest {
		return
	}
	if size := pageSize(rest); size < len(p.buf) {
		smaller := n.fs.pages.get(size)
		copy(smaller.buf, p.buf[:rest])
		n.release(len(p.buf) - size)
		n.blocks[b] = smaller
		p.drop()
		p = smaller
	}
	p.n = rest
}

// release returns bytes that were charged for blocks.
func (n *node) release(bytes int) {
	n.held -= int64(bytes)
	n.fs.charge(-int64(bytes))
}
