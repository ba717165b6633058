//go:build linux

package dirfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs/vfstest"
)

// fill makes n empty files in a directory.
func fill(tb testing.TB, dir string, n int) {
	tb.Helper()
	for i := range n {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("file", i)), nil, 0o644); err != nil {
			tb.Fatal(err)
		}
	}
}

// walkAll reads a directory in calls of at most n entries.
func walkAll(tb testing.TB, fs *FS, dir nfs3.FH, plus bool, n int, each func(*nfs3.Entry)) {
	tb.Helper()
	var (
		verf   nfs3.Verifier
		cookie uint64
	)
	for {
		room := n
		r, err := fs.ReadDir(tb.Context(), super, dir, cookie, verf, plus, func(e *nfs3.Entry) bool {
			if room == 0 {
				return false
			}
			room--
			cookie = e.Cookie
			each(e)
			return true
		})
		if err != nil {
			tb.Fatal(err)
		}
		if r.EOF {
			return
		}
		verf = r.Verf
	}
}

// BenchmarkReadDirPlus reads a directory that was read before, and one that was never read.
func BenchmarkReadDirPlus(b *testing.B) {
	const entries, batch = 10000, 150
	for _, state := range []bool{false, true} {
		b.Run(fmt.Sprintf("state=%v", state), func(b *testing.B) {
			dir := tempDir(b)
			fill(b, dir, entries)
			config := func() Config {
				cfg := Config{Path: dir}
				if state {
					cfg.State = b.TempDir()
				}
				return cfg
			}
			perEntry := func(b *testing.B) {
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/entries, "ns/entry")
			}
			b.Run("first", func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					fs, err := New(config())
					if err != nil {
						b.Fatal(err)
					}
					b.StartTimer()
					walkAll(b, fs, fs.Root(), true, batch, func(*nfs3.Entry) {})
					b.StopTimer()
					fs.Close()
					b.StartTimer()
				}
				perEntry(b)
			})
			b.Run("again", func(b *testing.B) {
				fs := newIn(b, config())
				for b.Loop() {
					walkAll(b, fs, fs.Root(), true, batch, func(*nfs3.Entry) {})
				}
				perEntry(b)
			})
		})
	}
}

func BenchmarkRead(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fs := newIn(b, Config{Path: tempDir(b)})
			h := create(b, fs, "file")
			write(b, fs, h, 0, make([]byte, 2<<20))
			var r vfs.ReadResult
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				r = vfs.ReadResult{Data: r.Data[:0]}
				if err := fs.Read(b.Context(), super, h, uint64(n), n, &r); err != nil {
					b.Fatal(err)
				}
				r.Release.Release()
			}
		})
	}
}

func BenchmarkWrite(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			fs := newIn(b, Config{Path: tempDir(b)})
			h := create(b, fs, "file")
			data := vfstest.Bulk(make([]byte, n))
			b.SetBytes(int64(n))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := fs.Write(b.Context(), super, h, uint64(n), data, nfs3.Unstable); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
