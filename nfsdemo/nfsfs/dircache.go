package nfsfs

import (
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

const (
	// dirAge is how long it is relied on that a name leads to a directory. Linux does so for half a
	// minute at least.
	dirAge = time.Second
	// dirCount is how many names of directories are remembered.
	dirCount = 64
)

// dirCache remembers where names of directories led a moment ago: the files of one do not each cost
// the LOOKUPs of all that is above it.
type dirCache struct {
	mu      sync.Mutex // guards what follows
	dirs    map[string]*knownDir
	changes uint64 // a walk in the middle of one is not remembered
}

// knownDir is where a name has led.
type knownDir struct {
	chain []nfs3.FH
	links int
	seen  []entry // on the way
	until time.Time
}

// entry is a name in a directory.
type entry struct {
	dir  nfs3.FH
	base string
}

// get returns a walk that is in a directory, or one that is at the root, and the count of changes
// for put.
func (c *dirCache) get(r *resolver, dir string) (w walk, changes uint64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.dirs[dir]; k != nil && time.Now().Before(k.until) {
		return walk{r: r, chain: slices.Clone(k.chain), links: k.links}, 0, true
	}
	return walk{r: r, chain: []nfs3.FH{r.root}}, c.changes, false
}

// put remembers where a walk to a directory has come, unless a name may have changed since it
// began.
func (c *dirCache) put(dir string, w *walk, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes != changes {
		return
	}
	if c.dirs == nil {
		c.dirs = make(map[string]*knownDir)
	}
	now := time.Now()
	for name, k := range c.dirs {
		if len(c.dirs) >= dirCount || !now.Before(k.until) {
			delete(c.dirs, name)
		}
	}
	c.dirs[dir] = &knownDir{slices.Clone(w.chain), w.links, w.seen, now.Add(dirAge)}
}

// drop forgets a directory that is not where it was.
func (c *dirCache) drop(dir string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.dirs, dir)
}

// changed forgets the directories whose names lead over a name that was removed or given to
// something else.
func (c *dirCache) changed(p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.changes++
	for name, k := range c.dirs {
		if slices.Contains(k.seen, entry{p.dir, p.base}) {
			delete(c.dirs, name)
		}
	}
}

// clear forgets everything, and reports whether that was anything.
func (c *dirCache) clear() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.dirs)
	clear(c.dirs)
	return n > 0
}
