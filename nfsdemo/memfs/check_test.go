package memfs

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// check checks that the file system has lost no page and no accounted byte, and that names and
// links agree.
func check(tb testing.TB, fs *FS) {
	tb.Helper()
	var inPages, names int64
	links := make(map[*node]uint32)
	for _, n := range fs.nodes {
		inPages += checkBlocks(tb, n)
		names += checkDir(tb, n, links)
	}
	for id, n := range fs.nodes {
		want := links[n]
		if n.kind == nfs3.TypeDir {
			want += 2
		}
		if n.id != id || n.nlink != want {
			tb.Errorf("file %d: %d links, want %d", id, n.nlink, want)
		}
	}
	used := int64(len(fs.nodes))*nodeCharge + names
	for _, n := range fs.nodes {
		used += n.held
	}
	if got := fs.used.Load(); got != used {
		tb.Errorf("%d bytes are charged, %d in use", got, used)
	}
	if in, kept := fs.pages.inUse, fs.pages.free.Kept(); in != inPages || in+kept > fs.capacity+spare {
		tb.Errorf("%d bytes are in pages of files; the pool has %d in use, %d kept, the capacity is %d",
			inPages, in, kept, fs.capacity)
	}
}

// checkBlocks returns the size of n's pages in bytes.
func checkBlocks(tb testing.TB, n *node) int64 {
	tb.Helper()
	held := int64(0)
	for b, p := range n.blocks {
		held += int64(len(p.buf))
		if refs := p.refs.Load(); refs != 1 {
			tb.Errorf("file %d, block %d: %d references", n.id, b, refs)
		}
		if b*blockSize+uint64(p.n) > n.size || p.n == 0 {
			tb.Errorf("file %d, block %d: %d bytes, the file has %d", n.id, b, p.n, n.size)
		}
	}
	if want := held + int64(len(n.path)); n.held != want {
		tb.Errorf("file %d: %d bytes charged, %d held", n.id, n.held, want)
	}
	return held
}

// checkDir counts the names in n as links to their nodes, and directories in n as links to n. It
// returns the accounted size of the names.
func checkDir(tb testing.TB, n *node, links map[*node]uint32) (cost int64) {
	tb.Helper()
	last, names := uint64(dotDotCookie), 0
	for e := range n.list.behind(0) {
		if e.cookie <= last || n.byName[e.name] != e {
			tb.Errorf("directory %d: %s has cookie %d, behind %d", n.id, e.name, e.cookie, last)
		}
		if n.fs.nodes[e.node.id] != e.node {
			tb.Errorf("directory %d: %s is gone", n.id, e.name)
		}
		last = e.cookie
		names++
		cost += chargeOf(e.name)
		if e.node.kind != nfs3.TypeDir {
			links[e.node]++
			continue
		}
		links[n]++
		if e.node.parent != n {
			tb.Errorf("directory %d is not the parent of %s", n.id, e.name)
		}
	}
	if names != len(n.byName) {
		tb.Errorf("directory %d: %d names are listed, %d can be found", n.id, names, len(n.byName))
	}
	return cost
}
