package dirfs

import (
	"container/list"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// desc is a descriptor of a node. It is closed when its last reference is released.
type desc struct {
	cache    *descCache
	node     *node
	fd       int
	writable bool
	dirty    atomic.Bool // has written data that is not synced
	listing  listing     // of a directory
	syncs    sharedSync

	used int // the last sweep in which it was used; guarded by cache.mu
	refs int // guarded by cache.mu; the cache has one
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

// close closes the descriptor. If it has uncommitted data it syncs first, because the host reports
// a failed write-back only once, and only to descriptors that were open then.
func (d *desc) close() error {
	var err error
	if d.dirty.Load() && !d.node.gone.Load() {
		err = d.fsync()
	}
	unix.Close(d.fd)
	return err
}

// sync writes data to stable storage by fsync(2) or fdatasync(2). The host reports a failure only
// once, but it may concern several clients that have not sent COMMIT yet. So it changes the epoch,
// and all clients write their data again.
func (d *desc) sync(how func(int) error) error {
	d.dirty.Store(false)
	err := again(func() error { return how(d.fd) })
	if err != nil {
		d.cache.lost.Add(1)
	}
	return err
}

// fsync syncs by fsync(2). Callers that wait at the same time share one, for example when they make
// many files in a directory.
func (d *desc) fsync() error {
	return d.syncs.do(func() error { return d.sync(unix.Fsync) })
}

// fdatasync syncs by fdatasync(2).
func (d *desc) fdatasync() error { return d.sync(unix.Fdatasync) }
