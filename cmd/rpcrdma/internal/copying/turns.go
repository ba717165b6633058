package copying

import "sync"

// copiers is how many files are copied at the same time: of a small one it is the server's answers
// that take the time. It is as many as there are calls under way by default (--credits).
const copiers = 64

// mediumCopiers is how many of these files may be such that several calls have memory for each.
const mediumCopiers = 8

// largeFile is from when on files are copied one at a time: they have enough calls under way alone,
// and memory for those.
const largeFile = 4 << 20

// turns bounds how many files are copied at the same time that take much memory.
type turns struct {
	large  sync.Mutex    // held while a large file is copied
	medium chan struct{} // has an element for each file copied that is neither large nor small
}

// turn waits until a file may be copied with the memory that it takes, until done is called.
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
