package copying

import "sync"

// copiers is how many files are copied concurrently. Small ones mostly wait for the server, so it
// is the default of --credits.
const copiers = 64

// mediumCopiers is how many of them may be medium files, each of which takes memory for several
// calls.
const mediumCopiers = 8

// largeFile is the size, in bytes, from which files are copied one at a time: one such file keeps
// enough calls under way.
const largeFile = 4 << 20

// turns limits how many medium and large files are copied concurrently, because of their memory.
type turns struct {
	large  sync.Mutex    // held while a large file is copied
	medium chan struct{} // has an element for each medium file that is being copied
}

// turn waits until a file of some size may be copied. Call done afterwards.
func (t *turns) turn(size int64, small bool) (done func()) {
	switch {
	case size >= largeFile:
		t.large.Lock()
		return t.large.Unlock
	case !small:
		t.medium <- struct{}{}
		return func() { <-t.medium }
	}
	return func() {}
}
