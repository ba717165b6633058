package copying

import (
	"context"
	"sync"
)

// unfinished are the directories that a copy with -p has made and not filled yet. Only their owner
// may read them.
type unfinished struct {
	mu   sync.Mutex // guards dirs
	dirs map[*dir]struct{}
}

func (u *unfinished) add(d *dir) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dirs == nil {
		u.dirs = make(map[*dir]struct{})
	}
	u.dirs[d] = struct{}{}
}

func (u *unfinished) remove(d *dir) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.dirs, d)
}

// leave gives the directories of a copy that ends early the mode and owner of their sources. Their
// owner may still write, to copy the rest, and their times are not set, because they are not
// complete. leave reports no error, because the copy has failed already, and stops at the first.
func (u *unfinished) leave(ctx context.Context) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for d := range u.dirs {
		as := d.details
		as.mode |= 0o700
		if d.to.keep(ctx, d.as, as, false, nil) != nil {
			return
		}
	}
}
