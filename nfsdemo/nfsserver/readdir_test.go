package nfsserver_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// lister calls READDIR or READDIRPLUS.
type lister struct {
	plus       bool
	dir        nfs3.FH
	names, max uint32 // names is for READDIRPLUS only
	forgets    bool   // sends a verifier of zero with each cookie, as some clients do
}

func (l lister) String() string {
	if l.plus {
		return fmt.Sprintf("READDIRPLUS %d %d", l.names, l.max)
	}
	return fmt.Sprintf("READDIR %d", l.max)
}

// size returns the bytes of an entry in the results.
func (l lister) size(e *nfs3.Entry) int {
	if l.plus {
		return e.Len()
	}
	return e.NameLen()
}

// list makes one call, and checks that its results are no longer than allowed.
func (l lister) list(tb testing.TB, c *oncrpc.Client, cookie uint64, verf nfs3.Verifier) nfs3.ReadDirPlusRes {
	tb.Helper()
	var (
		reply raw
		plus  nfs3.ReadDirPlusRes
		names nfs3.ReadDirRes
		args  oncrpc.Marshaler = &nfs3.ReadDirPlusArgs{Dir: l.dir, Cookie: cookie, Verf: verf, DirCount: l.names, MaxCount: l.max}
		res   oncrpc.Unmarshaler
	)
	proc := nfs3.ProcReadDirPlus
	if res = &plus; !l.plus {
		proc, args, res = nfs3.ProcReadDir, &nfs3.ReadDirArgs{Dir: l.dir, Cookie: cookie, Verf: verf, Count: l.max}, &names
	}
	if err := c.Do(tb.Context(), &oncrpc.Request{Procedure: uint32(proc), Args: args, Reply: &reply, MaxReply: 2 << 20}); err != nil {
		tb.Fatalf("%v: %v", l, err)
	}
	d := xdr.NewDecoder(reply)
	res.UnmarshalXDR(d)
	if err := d.Finish(); err != nil {
		tb.Fatalf("%v: %v", l, err)
	}
	if !l.plus {
		plus = names.ReadDirPlusRes
	}
	if plus.Status == nfs3.OK && len(reply)-4 > int(l.max) {
		tb.Errorf("%v: results of %d bytes", l, len(reply)-4)
	}
	if !plus.Dir.Present {
		tb.Errorf("%v: no attributes of the directory", l)
	}
	return plus
}

// all lists a whole directory. between is called after each call. Each reply must be as full as
// possible.
func (l lister) all(tb testing.TB, c *oncrpc.Client, between func(calls int)) (seen map[string]int, calls int) {
	tb.Helper()
	seen = make(map[string]int)
	cookie, verf, left := uint64(0), nfs3.Verifier{}, -1
	for {
		res := l.list(tb, c, cookie, verf)
		if calls++; res.Status != nfs3.OK || calls > 10_000 {
			tb.Fatalf("%v: call %d: %v", l, calls, res.Status)
		}
		if len(res.Entries) > 0 && left >= 0 && !l.plus && between == nil && l.size(&res.Entries[0]) <= left {
			tb.Errorf("%v: call %d: %d bytes were left for an entry of %d", l, calls, left, l.size(&res.Entries[0]))
		}
		left = min(int(l.max), 128<<10) - nfs3.ReadDirPlusResMin
		for i := range res.Entries {
			e := &res.Entries[i]
			seen[e.Name]++
			left -= l.size(e)
			if e.Attr.Present != l.plus || e.File.Present != l.plus || e.FileID == 0 || l.plus && e.Attr.Attr.FileID != e.FileID {
				tb.Fatalf("%v: %+v", l, e)
			}
			cookie = e.Cookie
		}
		if res.EOF {
			return seen, calls
		}
		if len(res.Entries) == 0 {
			tb.Fatalf("%v: call %d: neither entries nor the end", l, calls)
		}
		if !l.forgets {
			verf = res.Verf
		}
		if between != nil {
			between(calls)
		}
	}
}

// TestReadDirSizes: results respect the sizes that the client allows, and every entry comes once.
func TestReadDirSizes(t *testing.T) {
	w := newWorld(t)
	c := nfsOn(w.reach(t, pipe.Inline), auth(t, 0))
	const files = 150
	for i := range files {
		if _, _, err := w.fs.Create(t.Context(), &vfs.Cred{}, w.dir, fmt.Sprintf("file%0*d", i, i), &nfs3.CreateHow{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		lister
		calls int // at least
	}{
		{lister{plus: true, names: 1 << 20, max: 1 << 20}, 1},
		{lister{plus: true, names: math.MaxUint32, max: math.MaxUint32}, 1},
		{lister{plus: true, names: 1 << 20, max: 8192}, 5},
		{lister{plus: true, names: 1 << 20, max: 512}, 100},
		{lister{plus: true, names: 1000, max: 1 << 20}, 10},
		{lister{plus: true, names: 0, max: 1 << 20}, files}, // a hint
		{lister{max: 1 << 20}, 1},
		{lister{max: math.MaxUint32}, 1},
		{lister{max: 8192}, 2},
		{lister{max: 1024}, 15},
		{lister{max: 300}, 75},
		{lister{max: 284}, files / 2},
		{lister{max: 1024, forgets: true}, 15},
		{lister{plus: true, names: 1 << 20, max: 8192, forgets: true}, 5},
	} {
		tt.dir = w.dir
		seen, calls := tt.all(t, c, nil)
		for name, n := range seen {
			if n != 1 {
				t.Errorf("%v: %s %d times", tt, name, n)
			}
		}
		if len(seen) != files+3 || calls < tt.calls {
			t.Errorf("%v: %d entries in %d calls, want %d", tt, len(seen), calls, files+3)
		}
	}
}

// TestReadDirLong: results have at most 128 KiB, and nothing is lost.
func TestReadDirLong(t *testing.T) {
	w := newWorld(t)
	c := nfsOn(w.reach(t, pipe.Inline), auth(t, 0))
	const files = 2500
	for i := range files {
		if _, _, err := w.fs.Create(t.Context(), &vfs.Cred{}, w.dir, fmt.Sprintf("%0250d", i), &nfs3.CreateHow{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, l := range []lister{{max: 1 << 30}, {plus: true, names: 1 << 30, max: 1 << 30}} {
		l.dir = w.dir
		if got := l.list(t, c, 0, nfs3.Verifier{}); len(encode(resultsOf(got, l.plus))) > 4+128<<10 {
			t.Errorf("%v: %d bytes", l, len(encode(resultsOf(got, l.plus))))
		}
		if seen, calls := l.all(t, c, nil); len(seen) != files+3 || calls < 3 {
			t.Errorf("%v: %d entries in %d calls", l, len(seen), calls)
		}
	}
}

// TestReadDirMax: results respect MaxRead too.
func TestReadDirMax(t *testing.T) {
	w := newWorld(t)
	for i := range 40 {
		if _, _, err := w.fs.Create(t.Context(), &vfs.Cred{}, w.root, fmt.Sprintf("%020d", i), &nfs3.CreateHow{}); err != nil {
			t.Fatal(err)
		}
	}
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}, MaxRead: 1024})
	c := nfsOn(pipe.New(rpc, pipe.Inline), auth(t, 0))
	for _, plus := range []bool{false, true} {
		l := lister{plus: plus, dir: w.root, names: 1 << 20, max: 1 << 20}
		if got := len(encode(resultsOf(l.list(t, c, 0, nfs3.Verifier{}), plus))); got > 4+1024 || got < 512 {
			t.Errorf("%v: %d bytes", l, got)
		}
	}
}

func resultsOf(r nfs3.ReadDirPlusRes, plus bool) oncrpc.Marshaler {
	if plus {
		return &r
	}
	return &nfs3.ReadDirRes{ReadDirPlusRes: r}
}

// TestReadDirTooSmall: the smallest sizes that work are exact to the byte.
func TestReadDirTooSmall(t *testing.T) {
	w := newWorld(t)
	c := nfsOn(w.reach(t, pipe.Inline), auth(t, 0))
	for _, plus := range []bool{false, true} {
		l := lister{plus: plus, dir: w.dir, names: 1 << 20, max: 1 << 20}
		all := l.list(t, c, 0, nfs3.Verifier{})
		if len(all.Entries) != 3 || !all.EOF {
			t.Fatalf("%+v", all)
		}
		size := nfs3.ReadDirPlusResMin
		cookie := uint64(0)
		for i := range all.Entries {
			size += l.size(&all.Entries[i])
			l.max = uint32(size)
			if got := l.list(t, c, 0, nfs3.Verifier{}); got.Status != nfs3.OK || len(got.Entries) != i+1 || got.EOF != (i == 2) {
				t.Errorf("%v: %v, %d entries, EOF %v; want %d", l, got.Status, len(got.Entries), got.EOF, i+1)
			}
			l.max--
			want := nfs3.OK
			if i == 0 {
				want = nfs3.ErrTooSmall
			}
			if got := l.list(t, c, 0, nfs3.Verifier{}); got.Status != want || len(got.Entries) != i {
				t.Errorf("%v: %v, %d entries; want %v, %d", l, got.Status, len(got.Entries), want, i)
			}
			l.max = uint32(nfs3.ReadDirPlusResMin + l.size(&all.Entries[i]) - 1)
			if got := l.list(t, c, cookie, all.Verf); got.Status != nfs3.ErrTooSmall {
				t.Errorf("%v behind entry %d: %v", l, i, got.Status)
			}
			cookie = all.Entries[i].Cookie
		}
		for _, max := range []uint32{0, 1, nfs3.ReadDirPlusResMin - 1} {
			l.max = max
			if got := l.list(t, c, 0, nfs3.Verifier{}); got.Status != nfs3.ErrTooSmall {
				t.Errorf("%v: %v", l, got.Status)
			}
			if got := l.list(t, c, cookie, all.Verf); got.Status != nfs3.ErrTooSmall {
				t.Errorf("%v behind the last entry: %v", l, got.Status)
			}
		}
		l.max = nfs3.ReadDirPlusResMin
		if got := l.list(t, c, cookie, all.Verf); got.Status != nfs3.OK || len(got.Entries) != 0 || !got.EOF {
			t.Errorf("%v behind the last entry: %+v", l, got)
		}
		if got := l.list(t, c, cookie, nfs3.Verifier{0xff}); got.Status != nfs3.ErrBadCookie {
			t.Errorf("%v with another verifier: %v", l, got.Status)
		}
	}
}

// TestReadDirWhileChanging: entries that stay are listed once, whatever else changes.
func TestReadDirWhileChanging(t *testing.T) {
	for _, l := range []lister{
		{max: 300}, {max: 1000}, {max: 2048},
		{plus: true, names: 1 << 20, max: 500}, {plus: true, names: 100, max: 1 << 20}, {plus: true, names: 1 << 20, max: 4096},
	} {
		t.Run(l.String(), func(t *testing.T) {
			w := newWorld(t)
			c := nfsOn(w.reach(t, pipe.Inline), auth(t, 0))
			ctx, su := t.Context(), &vfs.Cred{}
			create := func(name string) {
				t.Helper()
				if _, _, err := w.fs.Create(ctx, su, w.dir, name, &nfs3.CreateHow{}); err != nil {
					t.Fatal(err)
				}
			}
			const n = 120
			for i := range n {
				create(fmt.Sprint("stays", i))
				create(fmt.Sprint("goes", i))
			}
			l.dir = w.dir
			seen, calls := l.all(t, c, func(calls int) {
				// One listed entry and one unlisted one are removed, one is added, and one is
				// renamed.
				for _, i := range []int{calls, n - calls} {
					if i >= 0 && i < n {
						w.fs.Remove(ctx, su, w.dir, fmt.Sprint("goes", i))
					}
				}
				if calls <= n {
					create(fmt.Sprint("comes", calls))
					w.fs.Rename(ctx, su, w.dir, fmt.Sprint("comes", calls), w.dir, fmt.Sprint("came", calls))
				}
			})
			if calls < 3 {
				t.Errorf("%d calls", calls)
			}
			for i := range n {
				if got := seen[fmt.Sprint("stays", i)]; got != 1 {
					t.Errorf("stays%d was seen %d times", i, got)
				}
			}
			for name, times := range seen {
				if times > 1 {
					t.Errorf("%s was seen %d times", name, times)
				}
			}
		})
	}
}
