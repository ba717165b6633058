package dirfs

import (
	"container/list"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// descCache keeps the descriptors that were used last, one for each node.
type descCache struct {
	max  int
	lost *atomic.Uint64 // of descs

	mu     sync.Mutex // guards what follows
	byNode map[*node]*desc
	lru    list.List // of *desc, the last used first
	sweeps int       // that there were
}

// get returns the descriptor of a node, or nil. The caller releases it.
func (c *descCache) get(n *node) *desc {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.byNode[n]
	if d != nil {
		d.refs++
		d.used = c.sweeps
		c.lru.MoveToFront(d.elem)
	}
	return d
}

// add makes a descriptor the node's, unless there is as good a one already, and returns that
// which is now. The caller releases it.
func (c *descCache) add(n *node, fd int, writable bool) *desc {
	d := &desc{cache: c, node: n, fd: fd, writable: writable, refs: 2}
	var unused []*desc
	c.mu.Lock()
	if old := c.byNode[n]; old != nil {
		if old.writable || !writable {
			old.refs++
			c.mu.Unlock()
			unix.Close(fd)
			return old
		}
		unused = c.take(unused, old)
	}
	d.elem, d.used = c.lru.PushFront(d), c.sweeps
	c.byNode[n] = d
	for most := room(c.max); c.lru.Len() > most; {
		unused = c.take(unused, c.lru.Back().Value.(*desc))
	}
	c.mu.Unlock()
	_ = closeAll(unused)
	return d
}

// take takes a descriptor out of the cache. It is appended to unused if nobody else has it; c.mu is
// held.
func (c *descCache) take(unused []*desc, d *desc) []*desc {
	c.lru.Remove(d.elem)
	delete(c.byNode, d.node)
	if d.refs--; d.refs == 0 {
		unused = append(unused, d)
	}
	return unused
}

// all returns the descriptors in the cache. The caller releases them.
func (c *descCache) all() []*desc {
	c.mu.Lock()
	defer c.mu.Unlock()
	ds := make([]*desc, 0, len(c.byNode))
	for _, d := range c.byNode {
		d.refs++
		ds = append(ds, d)
	}
	return ds
}

// drop takes the descriptor of a node out of the cache.
func (c *descCache) drop(n *node) {
	var unused []*desc
	c.mu.Lock()
	if d := c.byNode[n]; d != nil {
		unused = c.take(unused, d)
	}
	c.mu.Unlock()
	_ = closeAll(unused)
}

// retire takes a descriptor, which the caller holds, out of the cache, unless there is something to
// sync again.
func (c *descCache) retire(d *desc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !d.dirty.Load() && c.byNode[d.node] == d {
		c.take(nil, d)
	}
}

// idle returns the descriptors for writing that were not used between two sweeps, of which this
// begins one. The caller releases them.
func (c *descCache) idle() (ds []*desc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweeps++
	for e := c.lru.Back(); e != nil; e = e.Prev() {
		d := e.Value.(*desc)
		if d.used >= c.sweeps-1 {
			break // and those before it were used later
		}
		if d.writable {
			d.refs++
			ds = append(ds, d)
		}
	}
	return ds
}

// purge takes all out of the cache.
func (c *descCache) purge() error {
	var unused []*desc
	c.mu.Lock()
	for c.lru.Len() > 0 {
		unused = c.take(unused, c.lru.Back().Value.(*desc))
	}
	c.mu.Unlock()
	return closeAll(unused)
}

// closeAll closes descriptors and returns the first error. Who evicts them can ignore it: it is
// counted.
func closeAll(ds []*desc) error {
	var first error
	for _, d := range ds {
		if err := d.close(); first == nil {
			first = err
		}
	}
	return first
}
