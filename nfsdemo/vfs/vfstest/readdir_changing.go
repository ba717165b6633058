package vfstest

import (
	"fmt"
	"strings"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testReadDirChanging: entries that exist all the time are seen once, whatever changes between
// calls, and with any number of entries for each call.
func testReadDirChanging(f *fixture) {
	const stay, leave = 40, 40
	for _, n := range []int{1, 2, 3, 5, 8, 13, 39, 40, 41, 81, 82, 83, 1000} {
		d := f.dir(fmt.Sprint("dir", n), 0o755)
		for i := range max(stay, leave) {
			f.fileOf(root, d, fmt.Sprint("stay", i), 0o644)
			f.fileOf(root, d, fmt.Sprint("leave", i), 0o644)
		}
		calls := 0
		seen := make(map[string]int)
		for _, e := range f.list(d, n, func() {
			// One is removed that was seen, or is yet to be seen, or is the last that was seen; one
			// is made; one gets another name; until all have gone.
			if i := calls; i < leave/2 {
				f.remove(d, fmt.Sprint("leave", i))
				f.rename(d, fmt.Sprint("leave", leave-1-i), d, fmt.Sprint("renamed", i))
				f.fileOf(root, d, fmt.Sprint("new", i), 0o644)
			}
			calls++
		}) {
			seen[e.Name]++
		}
		for i := range stay {
			if got := seen[fmt.Sprint("stay", i)]; got != 1 {
				f.Errorf("%d at a time: stay%d was seen %d times", n, i, got)
			}
		}
		for name, got := range seen {
			if got != 1 {
				f.Errorf("%d at a time: %s was seen %d times", n, name, got)
			}
		}
	}
}

// testReadDirRemoving: a listing continues after an entry that is gone. A client that removes all
// entries that it sees, like rm -r, sees all.
func testReadDirRemoving(f *fixture) {
	d := f.dir("dir", 0o755)
	const entries = 300
	for _, n := range []int{1, 7, 100, 1000} {
		for i := range entries {
			f.fileOf(root, d, fmt.Sprint("file", i), 0o644)
		}
		var (
			cookie  uint64
			verf    nfs3.Verifier
			removed int
		)
		for {
			var batch []string
			r, err := f.fs.ReadDir(f.ctx, root, d, cookie, verf, false, func(e *nfs3.Entry) bool {
				if len(batch) == n {
					return false
				}
				batch = append(batch, e.Name)
				cookie = e.Cookie
				return true
			})
			f.ok(err)
			verf = r.Verf
			for _, name := range batch {
				if strings.HasPrefix(name, "file") {
					f.remove(d, name)
					removed++
				}
			}
			if r.EOF {
				break
			}
		}
		if removed != entries {
			f.Errorf("%d at a time: %d were seen, want %d", n, removed, entries)
		}
		f.wantNames(d)
	}
}

// testReadDirBeside: the same while others make and remove entries.
func testReadDirBeside(f *fixture) {
	d := f.dir("dir", 0o755)
	const n = 200
	for i := range n {
		f.fileOf(root, d, fmt.Sprint("old", i), 0o644)
	}
	var making sync.WaitGroup
	made := 0
	seen := make(map[string]int)
	for _, e := range f.list(d, 10, func() {
		making.Wait()
		first := made
		if first == n {
			return // else the list would go on as long as the directory grows
		}
		made += 10
		making.Go(func() { // beside the next call
			for i := range 10 {
				name := fmt.Sprint("new", first+i)
				if _, _, err := f.fs.Create(f.ctx, root, d, name, &nfs3.CreateHow{}); err != nil {
					f.Error(err)
				}
				if i%2 == 0 {
					continue
				}
				if _, err := f.fs.Remove(f.ctx, root, d, name); err != nil {
					f.Error(err)
				}
			}
		})
	}) {
		seen[e.Name]++
	}
	making.Wait()
	for i := range n {
		if got := seen[fmt.Sprint("old", i)]; got != 1 {
			f.Errorf("old%d was seen %d times", i, got)
		}
	}
	for name, got := range seen {
		if got != 1 {
			f.Errorf("%s was seen %d times", name, got)
		}
	}
}
