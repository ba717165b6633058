package nfsfs

import (
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

const (
	// dirAge is how long a name is assumed to lead to the same directory. Linux assumes it for half
	// a minute or more.
	dirAge = time.Second
	// dirCount is how many names of directories are remembered, besides those that are held.
	dirCount = 64
	// changeCount is how many changes of names are remembered. The result of a walk that more
	// changes have overtaken is not kept.
	changeCount = 256
)

// dirCache remembers for a moment where names of directories lead. So the files of a directory do
// not each cost the LOOKUPs of all directories above.
type dirCache struct {
	mu      sync.Mutex // guards what follows
	dirs    map[string]*knownDir
	changes uint64             // of names, so far
	latest  [changeCount]entry // the names of the last changes; change n is at n%changeCount
}

// knownDir is where the name of a directory has led.
type knownDir struct {
	chain []nfs3.FH
	links int
	seen  []entry // names looked up on the way
	until time.Time
	holds int // calls of Hold not released yet; above 0, until does not count
}

// good reports whether the entry may still be used.
func (k *knownDir) good() bool { return k.holds > 0 || time.Now().Before(k.until) }

// entry is a name in a directory.
type entry struct {
	dir  nfs3.FH
	base string
}

// get returns a walk that is in dir already if dir is known, or else one at the root. put needs the
// count of changes.
func (c *dirCache) get(r *resolver, dir string) (w walk, changes uint64, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if k := c.dirs[dir]; k != nil && k.good() {
		w = walk{r: r, chain: slices.Clone(k.chain), links: k.links, seen: slices.Clip(k.seen)}
		return w, c.changes, true
	}
	return walk{r: r, chain: []nfs3.FH{r.root}}, c.changes, false
}

// put remembers where a walk to a directory has ended, unless a name on the way may have changed
// since it began.
func (c *dirCache) put(dir string, w *walk, changes uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.changes-changes > changeCount {
		return
	}
	for n := changes; n < c.changes; n++ {
		if slices.Contains(w.seen, c.latest[n%changeCount]) {
			return
		}
	}
	if k := c.dirs[dir]; k != nil && k.holds > 0 {
		return
	}
	if c.dirs == nil {
		c.dirs = make(map[string]*knownDir)
	}
	for name, k := range c.dirs {
		if k.holds == 0 && (len(c.dirs) >= dirCount || !k.good()) {
			delete(c.dirs, name)
		}
	}
	c.dirs[dir] = &knownDir{
		chain: slices.Clone(w.chain), links: w.links, seen: w.seen, until: time.Now().Add(dirAge),
	}
}

// hold keeps a directory, if it is known, until release is called.
func (c *dirCache) hold(dir string) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.dirs[dir]
	if k == nil {
		return func() {}
	}
	k.holds++
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		k.holds--
		k.until = time.Now().Add(dirAge)
	}
}

// drop forgets a directory that has moved or gone.
func (c *dirCache) drop(dir string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.dirs, dir)
}

// changed records that a name was removed or given to another file, and forgets the directories
// that it led to.
func (c *dirCache) changed(p place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest[c.changes%changeCount] = entry{p.dir, p.base}
	c.changes++
	for name, k := range c.dirs {
		if slices.Contains(k.seen, entry{p.dir, p.base}) {
			delete(c.dirs, name)
		}
	}
}

// clear forgets everything, and reports whether there was anything.
func (c *dirCache) clear() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.dirs)
	clear(c.dirs)
	return n > 0
}
