package vfstest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// testConcurrentTree: many callers change the same few names. Nothing is lost, nothing removed
// stays, and the result is a tree.
func testConcurrentTree(f *fixture) {
	const workers, rounds, dirs = 6, 150, 4
	seed := rand.Uint64()
	f.Logf("seed %d", seed)
	var top [dirs]nfs3.FH
	for i := range top {
		top[i] = f.dir(fmt.Sprint("top", i), 0o755)
	}
	var all sync.WaitGroup
	for w := range workers {
		r := rand.New(rand.NewPCG(seed, uint64(w)))
		all.Go(func() {
			for range rounds {
				// The top directories stay; those below them come, move and go.
				d, t := top[r.IntN(dirs)], top[r.IntN(dirs)]
				if o, _, err := f.fs.Lookup(
					f.ctx, root, d, anyName(r),
				); err == nil && o.Attr.Attr.Type == nfs3.TypeDir {
					d = o.File
				}
				if err := f.disturb(r, d, t); err != nil {
					f.Error(err)
				}
			}
		})
	}
	all.Wait()
	links := make(map[nfs3.FH]uint32)
	f.checkTree(f.fs.Root(), f.fs.Root(), links)
	for h, n := range links {
		if a := f.attr(h); a.Nlink != n {
			f.Errorf("a file has %d names, and %d links", n, a.Nlink)
		}
	}
	f.wantNames(f.fs.Root(), "top0", "top1", "top2", "top3")
}

func anyName(r *rand.Rand) string { return string(rune('a' + r.IntN(5))) }

// disturb does something with names in two directories. It returns errors that are nobody else's
// doing.
func (f *fixture) disturb(r *rand.Rand, d, t nfs3.FH) error {
	var err error
	switch r.IntN(10) {
	case 0, 1:
		_, _, err = f.fs.Create(f.ctx, root, d, anyName(r), &nfs3.CreateHow{})
	case 2:
		_, _, err = f.fs.Mkdir(f.ctx, root, d, anyName(r), &nfs3.Sattr{})
	case 3:
		_, err = f.fs.Remove(f.ctx, root, d, anyName(r))
	case 4:
		_, err = f.fs.Rmdir(f.ctx, root, d, anyName(r))
	case 5, 6:
		_, _, err = f.fs.Rename(f.ctx, root, d, anyName(r), t, anyName(r))
	case 7:
		var cookies []uint64
		_, err = f.fs.ReadDir(f.ctx, root, d, 0, nfs3.Verifier{}, true, func(e *nfs3.Entry) bool {
			if slices.Contains(cookies, e.Cookie) {
				f.Errorf("%s: cookie %d twice", e.Name, e.Cookie)
			}
			cookies = append(cookies, e.Cookie)
			return true
		})
	default:
		err = f.use(r, d, t)
	}
	for _, s := range []nfs3.Status{
		nfs3.ErrNoEnt, nfs3.ErrExist, nfs3.ErrNotDir, nfs3.ErrIsDir, nfs3.ErrNotEmpty, nfs3.ErrInval,
		nfs3.ErrStale,
	} {
		if errors.Is(err, s) {
			return nil
		}
	}
	return err
}

// use does something with a file in d, which may go meanwhile.
func (f *fixture) use(r *rand.Rand, d, t nfs3.FH) error {
	o, _, err := f.fs.Lookup(f.ctx, root, d, anyName(r))
	if err != nil {
		return err
	}
	switch set := setSize(uint64(r.IntN(100_000))); r.IntN(5) {
	case 0, 1:
		_, _, err = f.fs.Link(f.ctx, root, o.File, t, anyName(r))
	case 2:
		_, err = f.fs.Write(f.ctx, root, o.File, uint64(r.IntN(100_000)),
			LazyBulk(pattern(1+r.IntN(100_000)), func() error { return nil }), nfs3.Unstable)
	case 3:
		_, err = f.fs.SetAttr(f.ctx, root, o.File, &set, nil)
	default:
		_, _, err = Read(f.ctx, f.fs, root, o.File, uint64(r.IntN(100_000)), 100_000)
	}
	return err
}

// checkTree checks that what is listed in a directory, and below, can be found, and counts the
// names of files.
func (f *fixture) checkTree(d, parent nfs3.FH, links map[nfs3.FH]uint32) {
	f.wantName(d, "..", parent)
	subs := uint32(0)
	for _, e := range f.list(d, 3, func() {}) {
		if e.Name == "." || e.Name == ".." {
			continue
		}
		f.wantName(d, e.Name, e.File.FH)
		a := f.attr(e.File.FH)
		if e.FileID != a.FileID {
			f.Errorf("%s: file %d, want %d", e.Name, e.FileID, a.FileID)
		}
		if a.Type == nfs3.TypeDir {
			subs++
			f.checkTree(e.File.FH, d, links)
		} else {
			links[e.File.FH]++
		}
	}
	if a := f.attr(d); a.Nlink != 2+subs && a.Nlink != 1 {
		f.Errorf("a directory with %d in it has %d links", subs, a.Nlink)
	}
}
