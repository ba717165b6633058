//go:build interop

package linux

import (
	"embed"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// steps are scripts, each of which does something with a directory of a mount, and fails if that is
// not as it should be. prelude.sh says what they can rely on.
//
//go:embed steps
var steps embed.FS

// sizes is how much the steps do.
type sizes struct {
	data    int // bytes there and back
	entries int // of a large directory
	fio     int // MiB
}

// variants are those of siw.
var variants = []string{"stock", "crc", "p2p", "mpa1"}

// TestStepsInMemory has Linux mount a file system in memory, and go through all steps.
func TestStepsInMemory(t *testing.T) {
	t.Parallel()
	// what takes long is for the others
	testSteps(t, nil, memory, sizes{data: 64 << 20, entries: 2000, fio: 32})
}

// TestStepsByName is the same on a directory of which the server may not use the kernel's handles.
func TestStepsByName(t *testing.T) {
	t.Parallel()
	testSteps(t, withoutHandles, directory, sizes{data: 16 << 20, entries: 2000, fio: 16})
}

// TestSteps is the same on a directory. It takes the longest, so that it is to begin early: it and
// the one above are not among the subtests of one test, since what is parallel there begins behind
// all that is parallel here.
func TestSteps(t *testing.T) {
	t.Parallel()
	if *full {
		t.Run("control", control)
	}
	testSteps(t, nil, directory, sizes{data: 64 << 20, entries: 10_000, fio: 64})
}

func testSteps(t *testing.T, by []string, export string, n sizes) {
	t.Helper()
	if *full {
		n = sizes{data: 1 << 30, entries: 10_000, fio: 256}
	}
	for _, siw := range inFull() {
		t.Run(siw, func(t *testing.T) {
			s := serveBy(t, by)
			m := machine{Siw: siw, Limit: longLimit()}
			if !*full { // it would be gigabytes
				m.Capture = filepath.Join(t.TempDir(), "pcap")
			}
			g, sh := bootShells(t, m, 1)
			data := random(t, n.data)
			g.put("data", data)
			mounted := s.mount(t, sh[0], export)
			for _, name := range allSteps(t) {
				t.Run(name, func(t *testing.T) { mounted.timed(t, name, n) })
			}
			mounted.unmount(t)
			if export == directory {
				checkFile(t, filepath.Join(s.dir, "data", "data"), data)
			}
			g.closeShells(sh)
			g.wait(t)
			s.stop(t)
			if m.Capture != "" {
				checkCapture(t, m.Capture, s)
			}
		})
	}
}

// inFull are the variants of siw with which everything is done.
func inFull() []string {
	if *full {
		return variants
	}
	return variants[:1]
}

// longLimit is for guests that do much.
func longLimit() time.Duration {
	if *full {
		return time.Hour
	}
	return 10 * time.Minute
}

// timed runs a step and logs how long it took.
func (m *mount) timed(t *testing.T, name string, n sizes) {
	t.Helper()
	start := time.Now()
	out := m.step(t, name, n)
	if name == "data" {
		out = figures(t, out, n.data)
	}
	t.Logf("%.1f s %s", time.Since(start).Seconds(), out)
}

// allSteps are the names of all, data first: what needs the most goes by it.
func allSteps(t *testing.T) []string {
	t.Helper()
	entries, err := steps.ReadDir("steps")
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"data"}
	for _, e := range entries {
		if name := strings.TrimSuffix(e.Name(), ".sh"); name != "prelude" && name != "data" {
			names = append(names, name)
		}
	}
	return names
}

// step runs a step in a new directory of its own, which it leaves there. /host/data has the data.
func (m *mount) step(t *testing.T, name string, n sizes) string {
	t.Helper()
	return m.sh.run(t, fmt.Sprintf("SOURCE=%s MOUNTPOINT=%s OPTIONS=%s SIZE=%d ENTRIES=%d FIO_MIB=%d\ncd $MOUNTPOINT && rm -rf %[7]s && mkdir %[7]s && cd %[7]s || exit\n",
		m.source, m.at, m.options, n.data, n.entries, n.fio, name)+
		source(t, "prelude")+source(t, name))
}

// source returns the text of a step.
func source(t *testing.T, name string) string {
	t.Helper()
	b, err := steps.ReadFile(path.Join("steps", name+".sh"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
