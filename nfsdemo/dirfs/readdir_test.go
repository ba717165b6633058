//go:build linux

package dirfs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestCookies: forged cookies are refused or lead somewhere valid; cookies of another verifier are
// refused.
func TestCookies(t *testing.T) {
	dir := tempDir(t)
	fill(t, dir, 100)
	f := newIn(t, Config{Path: dir})
	r, err := f.ReadDir(t.Context(), super, f.Root(), 0, nfs3.Verifier{}, true, func(*nfs3.Entry) bool { return false })
	must(t, err)
	for _, cookie := range []uint64{1, 2, 3, 4711, 1 << 31, 1 << 32, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64, 1 << 63, math.MaxUint64} {
		n := 0
		_, err := f.ReadDir(t.Context(), super, f.Root(), cookie, r.Verf, true, func(e *nfs3.Entry) bool { n++; return true })
		if err != nil && err != nfs3.ErrBadCookie || n > 102 {
			t.Errorf("cookie %#x: %d entries, %v", cookie, n, err)
		}
		if _, err := f.ReadDir(t.Context(), super, f.Root(), cookie, nfs3.Verifier{1}, true, func(*nfs3.Entry) bool { return true }); err != nfs3.ErrBadCookie {
			t.Errorf("cookie %#x of another verifier: %v", cookie, err)
		}
	}
	// A client that does not keep the verifier gets the rest as well.
	var cookie uint64
	seen := make(map[string]int)
	for eof := false; !eof; {
		room := 7
		r, err := f.ReadDir(t.Context(), super, f.Root(), cookie, nfs3.Verifier{}, true, func(e *nfs3.Entry) bool {
			if room--; room < 0 {
				return false
			}
			seen[e.Name]++
			cookie = e.Cookie
			return true
		})
		must(t, err)
		eof = r.EOF
	}
	if len(seen) != 102 {
		t.Errorf("without a verifier: %d names", len(seen))
	}
}

// TestTwoReaders: two readers at different places in a directory do not disturb each other.
func TestTwoReaders(t *testing.T) {
	dir := tempDir(t)
	const files = 500
	fill(t, dir, files)
	f := newIn(t, Config{Path: dir})
	type reader struct {
		cookie uint64
		verf   nfs3.Verifier
		seen   map[string]int
		done   bool
	}
	readers := []*reader{{seen: make(map[string]int)}, {seen: make(map[string]int)}}
	for i := 0; !readers[0].done || !readers[1].done; i++ {
		who := readers[i%2]
		if who.done || i%2 == 1 && i%6 != 1 { // the second is slower
			continue
		}
		room := 7
		r, err := f.ReadDir(t.Context(), super, f.Root(), who.cookie, who.verf, i%3 == 0, func(e *nfs3.Entry) bool {
			if room--; room < 0 {
				return false
			}
			who.seen[e.Name]++
			who.cookie = e.Cookie
			return true
		})
		must(t, err)
		who.verf, who.done = r.Verf, r.EOF
	}
	for i, who := range readers {
		if len(who.seen) != files+2 {
			t.Errorf("reader %d has seen %d entries", i, len(who.seen))
		}
		for name, n := range who.seen {
			if n != 1 {
				t.Errorf("reader %d has seen %s %d times", i, name, n)
			}
		}
	}
}

// TestListWithoutSearch: a caller that may read a directory, but not search it, gets only names.
func TestListWithoutSearch(t *testing.T) {
	f := newIn(t, Config{Path: tempDir(t)})
	d := mkdir(t, f, f.Root(), "dir")
	createIn(t, f, d, "file")
	for _, tt := range []struct {
		mode uint32
		want bool
	}{{0o744, false}, {0o745, true}} {
		must(t, first(f.SetAttr(t.Context(), super, d, &nfs3.Sattr{Mode: nfs3.Set32{Set: true, To: tt.mode}}, nil)))
		seen := 0
		_, err := f.ReadDir(t.Context(), somebody, d, 0, nfs3.Verifier{}, true, func(e *nfs3.Entry) bool {
			if e.Name == "file" {
				seen++
			}
			if e.Attr.Present != tt.want || e.File.Present != tt.want {
				t.Errorf("mode %o: %+v", tt.mode, e)
			}
			return true
		})
		if err != nil || seen != 1 {
			t.Errorf("mode %o: %v, %d", tt.mode, err, seen)
		}
	}
}

// TestRemovedWhileListed: an entry whose file is gone when its attributes are read is left out.
func TestRemovedWhileListed(t *testing.T) {
	dir := tempDir(t)
	const files = 300
	fill(t, dir, files)
	f := newIn(t, Config{Path: dir})
	given := 0
	walkAll(t, f, f.Root(), true, 2*files, func(e *nfs3.Entry) {
		if given == 0 {
			for i := range files {
				must(t, os.Remove(filepath.Join(dir, fmt.Sprint("file", i))))
			}
		}
		given++
		if !e.Attr.Present || !e.File.Present {
			t.Errorf("%s has no attributes", e.Name)
		}
	})
	if given < 2 || given >= files {
		t.Errorf("%d entries", given)
	}
}
