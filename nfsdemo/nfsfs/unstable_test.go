package nfsfs

import (
	"bytes"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/iotest"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// check checks the invariants that hold while no WRITE is under way.
func (u *unstable) check(t interface{ Errorf(string, ...any) }) {
	u.mu.Lock()
	defer u.mu.Unlock()
	refs := make(map[*buffer]int)
	end := int64(0)
	for i, s := range u.spans {
		if s.n <= 0 || s.off < end || s.at+s.n > len(s.b.mem) {
			t.Errorf("span %d: %+v behind %d", i, *s, end)
		}
		end = s.end()
		refs[s.b]++
	}
	if u.fill != nil {
		refs[u.fill]++
	}
	held := 0
	for b, n := range refs {
		if b.refs != n {
			t.Errorf("a buffer has %d references, counted are %d", n, b.refs)
		}
		held += b.used
	}
	if held != u.held {
		t.Errorf("%d bytes held, counted are %d", held, u.held)
	}
}

// TestRestarts: whatever the server loses, synced data stays as written.
func TestRestarts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := &hostile{restart: make(map[int]bool)}
		for range rapid.IntRange(0, maxRestarts).Draw(t, "restarts") {
			s.restart[rapid.IntRange(0, 60).Draw(t, "at")] = true
		}
		if n := rapid.IntRange(1, 5).Draw(t, "short"); n > 1 {
			s.short = func(m int) int { return (m + n - 1) / n }
		}
		if n := rapid.IntRange(1, 4).Draw(t, "durable"); n > 1 {
			i := 0
			s.how = func() nfs3.StableHow { i++; return nfs3.StableHow(i % n % 3) }
		}
		fsys, end := s.fs(Config{
			TransferSize:   rapid.IntRange(1, 20).Draw(t, "size"),
			Parallel:       rapid.IntRange(1, 4).Draw(t, "parallel"),
			MaxUncommitted: rapid.IntRange(1, 200).Draw(t, "uncommitted"),
		})
		defer end()
		f, err := fsys.OpenFile(t.Context(), "file", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		var model []byte
		next := byte(0)
		data := func() []byte {
			p := make([]byte, rapid.IntRange(0, 70).Draw(t, "n"))
			for i := range p {
				next++
				p[i] = next
			}
			return p
		}
		synced := func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			if !bytes.Equal(s.stable, model) {
				t.Fatalf("the server has\n%x, want\n%x", s.stable, model)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { f.unstable.idle(); f.unstable.check(t) },
			"WriteAt": func(t *rapid.T) {
				p, off := data(), rapid.IntRange(0, 100).Draw(t, "off")
				if n, err := f.WriteAt(p, int64(off)); n != len(p) || err != nil {
					t.Fatal(n, err)
				}
				if len(p) > 0 {
					model = put(model, uint64(off), p)
				}
				clear(p) // the caller may reuse it
			},
			"ReadFrom": func(t *rapid.T) {
				p, off := data(), rapid.IntRange(0, 100).Draw(t, "off")
				f.Seek(int64(off), 0)
				if n, err := f.ReadFrom(iotest.HalfReader(bytes.NewReader(p))); n != int64(len(p)) || err != nil {
					t.Fatal(n, err)
				}
				if len(p) > 0 {
					model = put(model, uint64(off), p)
				}
			},
			"Truncate": func(t *rapid.T) {
				n := rapid.IntRange(0, 150).Draw(t, "to")
				if err := f.Truncate(int64(n)); err != nil {
					t.Fatal(err)
				}
				model = resize(model, n)
			},
			"Sync": func(t *rapid.T) {
				if err := f.Sync(); err != nil {
					t.Fatal(err)
				}
				synced()
			},
		})
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		if f.unstable.held != 0 || len(f.unstable.spans) != 0 {
			t.Errorf("closed with %d bytes held in %d spans", f.unstable.held, len(f.unstable.spans))
		}
		synced()
	})
}

// idle waits until no COMMIT is under way.
func (u *unstable) idle() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for u.committing {
		u.changed.Wait()
	}
}

// TestRestartsConcurrent: several writers repeatedly write to their own places while others sync.
func TestRestartsConcurrent(t *testing.T) {
	const writers, rounds, area = 4, 60, 64
	s := &hostile{restart: map[int]bool{7: true, 50: true, 51: true, 101: true, 150: true, 222: true, 300: true, 301: true},
		short: func(n int) int { return (n + 1) / 2 }}
	f := s.open(t, t.Context(), Config{TransferSize: 16, Parallel: 3, MaxUncommitted: 300}, os.O_RDWR)
	want := make([]byte, writers*area)
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			mine := want[w*area : (w+1)*area]
			for i := range rounds {
				off := i * 7 % area
				p := bytes.Repeat([]byte{byte(w<<6 | i)}, min(area-off, 1+i*5%40))
				copy(mine[off:], p)
				if _, err := f.WriteAt(p, int64(w*area+off)); err != nil {
					t.Error(err)
				}
				if i%10 == 9 {
					if err := f.Sync(); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	f.unstable.check(t)
	if !bytes.Equal(s.stable, want) {
		t.Errorf("got\n%x, want\n%x", s.stable, want)
	}
	if s.verf == 0 {
		t.Error("the server did not restart")
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	fmt.Fprintln(t.Output(), s.calls, "calls,", s.commits, "COMMITs,", s.verf, "restarts")
}
