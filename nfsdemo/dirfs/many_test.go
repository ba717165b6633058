//go:build linux

package dirfs

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// manyFiles is how many files BenchmarkManyFiles makes by default. DIRFS_FILES overrides it.
const manyFiles = 20000

// perDir is the number of files in each directory.
const perDir = 1000

// BenchmarkManyFiles measures the cost of having seen many files:
//
//   - memory,
//   - the longest wait of another call while files are being seen,
//   - the time from a restart to the first answer,
//   - the time of a GETATTR by handles from before the restart and by handles from after it.
//
// No file is open when its GETATTR arrives.
//
//	DIRFS_FILES=2000000 \
//		go test -run '^$' -bench ManyFiles -benchtime 1x -timeout 1h ./nfsdemo/dirfs
func BenchmarkManyFiles(b *testing.B) {
	files := manyFiles
	if s := os.Getenv("DIRFS_FILES"); s != "" {
		var err error
		files, err = strconv.Atoi(s)
		must(b, err)
	}
	dir := tempDir(b)
	for i := range files / perDir {
		d := filepath.Join(dir, fmt.Sprint("dir", i))
		must(b, os.Mkdir(d, 0o755))
		fill(b, d, perDir)
	}
	for _, byName := range []bool{false, true} {
		b.Run(map[bool]string{false: "kernel", true: "names"}[byName], func(b *testing.B) {
			for range b.N {
				measureMany(b, Config{Path: dir, State: b.TempDir(), ByName: byName}, files)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

func measureMany(b *testing.B, cfg Config, files int) {
	f, err := New(cfg)
	must(b, err)
	// Allocate what does not grow with the files first: buffers and descriptors.
	seeDirs(b, f, min(10, files/perDir))
	empty := residentOf(b, f)
	old, longest := seeAll(b, f, files)
	grown := residentOf(b, f) - empty
	must(b, f.Close())

	began := time.Now()
	f, err = New(cfg)
	must(b, err)
	_, err = f.GetAttr(b.Context(), old[0])
	must(b, err)
	restart := time.Since(began)
	defer f.Close()
	// Half of the directories are seen again. For the others there are only the old handles.
	half := files / perDir / 2
	fresh := seeDirs(b, f, half)
	times := getAttrs(b, f, fresh, old[len(old)/2:])
	b.ReportMetric(float64(grown)/float64(files), "B/file")
	b.ReportMetric(longest.Seconds()*1e3, "ms-longest")
	b.ReportMetric(restart.Seconds()*1e3, "ms-restart")
	b.ReportMetric(float64(times[0].Nanoseconds())/1e3, "µs-p99-fresh")
	b.ReportMetric(float64(times[1].Nanoseconds())/1e3, "µs-p99-old")
}

// residentOf returns the resident memory of the process in bytes, with no file open.
func residentOf(b *testing.B, f *FS) int64 {
	b.Helper()
	_ = f.tree.descs.paths.purge()
	must(b, f.tree.descs.data.purge())
	for range 3 { // a collection frees what the one before found
		debug.FreeOSMemory()
	}
	s, err := os.ReadFile("/proc/self/statm")
	must(b, err)
	var size, resident int64
	_, err = fmt.Sscan(string(s), &size, &resident)
	must(b, err)
	return resident * int64(os.Getpagesize())
}

// seeDirs reads the first dirs directories and returns the handles of one file in a hundred.
func seeDirs(b *testing.B, f *FS, dirs int) (handles []nfs3.FH) {
	for i := range dirs {
		o, _, err := f.Lookup(b.Context(), super, f.Root(), fmt.Sprint("dir", i))
		must(b, err)
		n := 0
		walkAll(b, f, o.File, true, 150, func(e *nfs3.Entry) {
			if n++; n%(perDir/10) == 0 && e.Attr.Attr.Type == nfs3.TypeReg {
				handles = append(handles, e.File.FH)
			}
		})
	}
	return handles
}

// seeAll reads all directories. It returns some handles, and the longest time that a GETATTR of the
// root took meanwhile.
func seeAll(b *testing.B, f *FS, files int) ([]nfs3.FH, time.Duration) {
	var stop atomic.Bool
	longest := make(chan time.Duration)
	go func() {
		var most time.Duration
		for !stop.Load() {
			began := time.Now()
			if _, err := f.GetAttr(b.Context(), f.Root()); err != nil {
				b.Error(err)
			}
			most = max(most, time.Since(began))
			time.Sleep(100 * time.Microsecond)
		}
		longest <- most
	}()
	handles := seeDirs(b, f, files/perDir)
	stop.Store(true)
	return handles, <-longest
}

// getAttrs returns the 99th percentile of the time of a GETATTR, for each set of handles.
func getAttrs(b *testing.B, f *FS, sets ...[]nfs3.FH) (p99 []time.Duration) {
	random := rand.New(rand.NewPCG(1, 2))
	times := make([][]time.Duration, len(sets))
	for i := range 20000 * len(sets) {
		if i%100 == 0 {
			_ = f.tree.descs.paths.purge()
		}
		set := i % len(sets)
		h := sets[set][random.IntN(len(sets[set]))]
		began := time.Now()
		if _, err := f.GetAttr(b.Context(), h); err != nil {
			b.Fatal(err)
		}
		times[set] = append(times[set], time.Since(began))
	}
	for _, t := range times {
		slices.Sort(t)
		p99 = append(p99, t[len(t)*99/100])
	}
	return p99
}
