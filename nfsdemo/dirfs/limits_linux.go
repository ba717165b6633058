package dirfs

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// limits are how many descriptors a file system may keep open.
type limits struct{ paths, data int }

// defaultLimits leaves most descriptors to others.
func defaultLimits() limits {
	l := limits{paths: 4096, data: 1024}
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err == nil {
		part := int(r.Cur / 8)
		l.paths, l.data = max(16, min(l.paths, part)), max(16, min(l.data, part))
	}
	return l
}

// minShare is the least number of descriptors of each kind that a file system may keep open.
const minShare = 4

// all has the descriptors of all open file systems. If there are more than two, together they keep
// open twice what one alone may, in equal shares.
var all struct {
	count atomic.Int32
	mu    sync.Mutex // guards descs
	descs map[*descs]bool
}

// register counts a file system.
func (s *descs) register() {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.descs == nil {
		all.descs = make(map[*descs]bool)
	}
	all.descs[s] = true
	all.count.Store(int32(len(all.descs)))
}

func (s *descs) unregister() {
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.descs, s)
	all.count.Store(int32(len(all.descs)))
}

// room returns how many descriptors a cache may keep, given what it may keep alone.
func room(alone int) int {
	n := int(all.count.Load())
	if n <= 2 {
		return alone
	}
	return min(alone, max(minShare, 2*alone/n))
}

// purgeOthers closes what other file systems keep open.
func (s *descs) purgeOthers() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for o := range all.descs {
		if o != s {
			_ = o.paths.purge()
			_ = o.data.purge()
		}
	}
}
