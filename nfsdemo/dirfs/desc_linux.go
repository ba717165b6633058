package dirfs

import (
	"container/list"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// desc is a descriptor of a node, which is closed when nobody refers to it any more.
type desc struct {
	cache    *descCache
	node     *node
	fd       int
	writable bool
	dirty    atomic.Bool // data was written that was not synced
	listing  listing     // of a directory
	syncs    sharedSync

	used int // when it was used last, in sweeps; guarded by cache.mu
	refs int // likewise; the cache has one
	elem *list.Element
}

// release gives back a reference.
func (d *desc) release() {
	d.cache.mu.Lock()
	d.refs--
	last := d.refs == 0
	d.cache.mu.Unlock()
	if last {
		d.close()
	}
}

// close closes the descriptor. The host tells a failure to write data back once, and those who had
// the file open then: with data that no COMMIT came for, that is us.
func (d *desc) close() error {
	var err error
	if d.dirty.Load() && !d.node.gone.Load() {
		err = d.fsync()
	}
	unix.Close(d.fd)
	return err
}

// sync brings what was written to stable storage, by fsync(2) or fdatasync(2). The host tells a
// failure once. It may be that of data of several clients, whose COMMITs are yet to come: all are
// to write theirs again.
func (d *desc) sync(how func(int) error) error {
	d.dirty.Store(false)
	err := again(func() error { return how(d.fd) })
	if err != nil {
		d.cache.lost.Add(1)
	}
	return err
}

// fsync is sync by an fsync(2) that those share who wait together, as they do when many files are
// made in a directory.
func (d *desc) fsync() error {
	return d.syncs.do(func() error { return d.sync(unix.Fsync) })
}

// fdatasync is sync by fdatasync(2).
func (d *desc) fdatasync() error { return d.sync(unix.Fdatasync) }
