package dirfs

import (
	"container/list"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// descCache keeps the most recently used descriptors, one for each node.
type descCache struct {
	max  int
	lost *atomic.Uint64 // of descs

	mu     sync.Mutex // guards what follows
	byNode map[*node]*desc
	lru    list.List // of *desc, the most recently used first
	sweeps int       // sweeps so far
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

// add makes fd the descriptor of a node, unless the node has one that is as good. It returns the
// node's descriptor, which the caller releases.
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

// take removes a descriptor from the cache. If nobody else uses it, take appends it to unused. c.mu
// is held.
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

// drop removes the descriptor of a node from the cache.
func (c *descCache) drop(n *node) {
	var unused []*desc
	c.mu.Lock()
	if d := c.byNode[n]; d != nil {
		unused = c.take(unused, d)
	}
	c.mu.Unlock()
	_ = closeAll(unused)
}

// retire removes a descriptor that the caller holds from the cache, unless it has data to sync.
func (c *descCache) retire(d *desc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !d.dirty.Load() && c.byNode[d.node] == d {
		c.take(nil, d)
	}
}

// idle begins a sweep. It returns the writable descriptors that were not used during the last one.
// The caller releases them.
func (c *descCache) idle() (ds []*desc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sweeps++
	for e := c.lru.Back(); e != nil; e = e.Prev() {
		d := e.Value.(*desc)
		if d.used >= c.sweeps-1 {
			break // the rest was used later
		}
		if d.writable {
			d.refs++
			ds = append(ds, d)
		}
	}
	return ds
}

// purge removes all descriptors from the cache.
func (c *descCache) purge() error {
	var unused []*desc
	c.mu.Lock()
	for c.lru.Len() > 0 {
		unused = c.take(unused, c.lru.Back().Value.(*desc))
	}
	c.mu.Unlock()
	return closeAll(unused)
}

// closeAll closes descriptors and returns the first error. Errors are also counted, so evictions
// may ignore it.
func closeAll(ds []*desc) error {
	var first error
	for _, d := range ds {
		if err := d.close(); first == nil {
			first = err
		}
	}
	return first
}
