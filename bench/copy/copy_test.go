package copy

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/env"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
	"github.com/rpcrdma/go-rpcrdma/bench/rounds"
	"github.com/rpcrdma/go-rpcrdma/bench/spread"
)

// sample is one run of one way.
type sample struct{ took, cpu time.Duration }

// BenchmarkCopy copies a file in all ways in turn. One iteration covers all rounds.
func BenchmarkCopy(b *testing.B) {
	if _, err := exec.LookPath("cp"); err != nil {
		b.Skip("there is no cp to compare with")
	}
	o := env.Default()
	o.Size, o.Rounds = 1<<30, 5
	o, err := env.Read(o)
	if err != nil {
		b.Fatal(err)
	}
	r := newRig(b, o.Size)
	want := sum(b, r.source)
	for b.Loop() {
		samples := byTurns(b, o.Rounds, ways, func(w way) sample {
			s := r.timed(w.name, func() (time.Duration, error) { return w.run(r) })
			if w.to == "" {
				return s
			}
			if got := sum(b, r.path(w.to)); got != want {
				b.Fatalf("%s: SHA-256 %x, want %x", w.name, got, want)
			}
			if err := os.Remove(r.path(w.to)); err != nil {
				b.Fatal(err)
			}
			return s
		})
		report(b, r.dir, o.Size, samples)
	}
}

// byTurns runs all ways in each of n rounds, and returns the samples by name.
func byTurns[W interface{ String() string }](b *testing.B, n int, ways []W, run func(W) sample) map[string][]sample {
	samples := make(map[string][]sample)
	schedule := rounds.Schedule{Wanted: rounds.Each(len(ways), n)}
	err := schedule.Run(func(i int, _ time.Duration) error {
		name := ways[i].String()
		samples[name] = append(samples[name], run(ways[i]))
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return samples
}

// timed times a run, which returns its CPU time.
func (r *rig) timed(name string, run func() (cpu time.Duration, err error)) sample {
	begin := time.Now()
	cpu, err := run()
	took := time.Since(begin)
	if err != nil {
		r.b.Fatalf("%s: %v", name, err)
	}
	return sample{took, cpu}
}

// newRig makes the file, builds the command, and starts a server. Everything is cleaned up when the
// benchmark ends.
func newRig(b *testing.B, size int) *rig {
	r := &rig{b: b, dir: fastDir(b), command: build(b)}
	r.source = r.path("source")
	if err := writeRandom(r.source, size); err != nil {
		b.Fatal(err)
	}
	// While a file is replaced, both copies exist.
	r.serve("--memory", "/bench", "--memory-size", strconv.Itoa(4*size+64<<20))
	return r
}

// build builds the command.
func build(b *testing.B) (command string) {
	command = filepath.Join(b.TempDir(), "rpcrdma")
	build := exec.Command("go", "build", "-o", command, "github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", build.Args, err, out)
	}
	return command
}

// fastDir returns a directory on tmpfs, if there is one.
func fastDir(b *testing.B) string {
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); err != nil {
		return b.TempDir()
	}
	dir, err := os.MkdirTemp(shm, "copy")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func writeRandom(name string, size int) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := io.CopyN(f, rand.NewChaCha8([32]byte{}), int64(size)); err != nil {
		return err
	}
	return f.Close()
}

// serve starts a server that exports /bench, and sets r.rdma and r.tcp.
func (r *rig) serve(exports ...string) {
	args := append([]string{"serve", "--listen", "127.0.0.1:0", "--mount", "127.0.0.1:0"}, exports...)
	c, err := host.Program{Path: r.command, Args: args}.Start(r.b.Context())
	if err != nil {
		r.b.Fatal(err)
	}
	stop := func() error { return c.Stop(0) } // the server does not end by itself
	r.b.Cleanup(func() { _ = stop() })
	for lines := bufio.NewScanner(c.Out); r.tcp == "" && lines.Scan(); {
		switch before, addr, _ := strings.Cut(lines.Text(), " on "); {
		case strings.HasPrefix(before, "NFS over RDMA"):
			r.rdma = "rdma://" + addr + "/bench"
		case strings.HasPrefix(before, "MOUNT and NFS over TCP"): // comes after the line for RDMA
			r.tcp = "tcp://" + addr + "/bench"
		}
	}
	if r.tcp == "" {
		r.b.Fatal("the server did not come up:", stop())
	}
	go io.Copy(io.Discard, c.Out)
}

func sum(b *testing.B, name string) [sha256.Size]byte {
	f, err := os.Open(name)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		b.Fatal(err)
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// report prints a table, and reports the ratios to raw TCP as metrics.
func report(b *testing.B, dir string, size int, samples map[string][]sample) {
	fmt.Printf("\n%d bytes in %s, %d rounds, %d CPUs, %s/%s, %s\n", size, dir, len(samples["cp"]), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version())
	w := tabwriter.NewWriter(os.Stdout, 0, 8, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tMB/s\tto cp\tto raw TCP\tcpu-ms/GB\t")
	for _, way := range ways {
		s := samples[way.name]
		gigabytes := float64(size) / 1e9
		speed := median(s, func(s sample) float64 { return gigabytes * 1e3 / s.took.Seconds() })
		cpu := median(s, func(s sample) float64 { return s.cpu.Seconds() * 1e3 / gigabytes })
		toRaw := ratio(s, samples["raw TCP"])
		fmt.Fprintf(w, "%s\t%.0f\t%.2f\t%.2f\t%.0f\t\n", way.name, speed, ratio(s, samples["cp"]), toRaw, cpu)
		b.ReportMetric(toRaw, strings.ReplaceAll(way.name, " ", "-")+"/raw")
	}
	w.Flush()
	fmt.Println("cpu-ms/GB is of the commands; of raw TCP both ends, of the others without the server")
}

// ratio returns the median speed of one way divided by that of another in the same round.
func ratio(of, to []sample) float64 {
	i := -1
	return median(of, func(s sample) float64 { i++; return to[i].took.Seconds() / s.took.Seconds() })
}

func median(samples []sample, of func(sample) float64) float64 {
	var values []float64
	for _, s := range samples {
		values = append(values, of(s))
	}
	return spread.Median(values)
}
