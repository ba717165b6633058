package memfs

import (
	"cmp"
	"iter"
	"slices"
)

// runs has the entries of a directory by ascending cookie, divided into runs. No run is empty, and
// two adjacent runs together have more than half of runLen entries. So adding and finding take few
// steps, removing moves few entries, and reading skips no gaps.
type runs struct {
	all   [][]*dirent
	moved int // entries and runs that removals have moved, for tests
}

// runLen is the largest number of entries in a run.
const runLen = 128

// add appends an entry, which has the highest cookie.
func (r *runs) add(e *dirent) {
	last := len(r.all) - 1
	if last < 0 || len(r.all[last]) == runLen {
		r.all = append(r.all, nil)
		last++
	}
	r.all[last] = append(r.all[last], e)
}

// remove removes the entry with a cookie, which must exist.
func (r *runs) remove(cookie uint64) {
	i := r.find(cookie)
	j, _ := position(r.all[i], cookie)
	r.all[i] = cut(r, r.all[i], j)
	if len(r.all[i]) == 0 {
		r.all = cut(r, r.all, i)
	}
	r.join(i)
	r.join(i - 1)
}

// join joins run i and the next if both are short.
func (r *runs) join(i int) {
	if i < 0 || i+1 >= len(r.all) || len(r.all[i])+len(r.all[i+1]) > runLen/2 {
		return
	}
	r.moved += len(r.all[i+1])
	r.all[i] = append(r.all[i], r.all[i+1]...)
	r.all = cut(r, r.all, i+1)
}

// find returns the index of the first run with an entry at or after the cookie.
func (r *runs) find(cookie uint64) int {
	i, _ := slices.BinarySearchFunc(r.all, cookie, func(run []*dirent, c uint64) int {
		return cmp.Compare(run[len(run)-1].cookie, c)
	})
	return i
}

// behind yields the entries after a cookie, whose entry may be gone.
func (r *runs) behind(cookie uint64) iter.Seq[*dirent] {
	return func(yield func(*dirent) bool) {
		for i := r.find(cookie); i < len(r.all); i++ {
			run := r.all[i]
			j, found := position(run, cookie)
			if found {
				j++
			}
			for _, e := range run[j:] {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// position returns where the cookie is in a run, or would be.
func position(run []*dirent, cookie uint64) (int, bool) {
	return slices.BinarySearchFunc(run, cookie, func(e *dirent, c uint64) int { return cmp.Compare(e.cookie, c) })
}

// cut returns s without s[i]. It moves the part before or after it, whichever is shorter.
func cut[T any](r *runs, s []T, i int) []T {
	r.moved += min(i, len(s)-1-i)
	if i < len(s)/2 {
		copy(s[1:], s[:i])
		clear(s[:1])
		return s[1:]
	}
	return slices.Delete(s, i, i+1)
}
