//go:build interop

package linux

import (
	"embed"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// steps are scripts. Each does something in a directory of a mount, and fails if the result is
// wrong. prelude.sh describes their environment.
//
//go:embed steps
var steps embed.FS

// sizes is the amount of work for the steps.
type sizes struct {
	data    int // bytes copied each way
	entries int // in a large directory
	fio     int // MiB
}

// stock is siw as it comes.
const stock = "stock"

// variants are the variants of siw.
var variants = []string{stock, "crc", "p2p", "mpa1"}

// TestStepsInMemory has Linux mount an in-memory file system and run all steps.
func TestStepsInMemory(t *testing.T) {
	t.Parallel()
	// Long steps are left to the other tests.
	testSteps(t, nil, memory, sizes{data: 64 << 20, entries: 2000, fio: 32})
}

// TestStepsByName runs the steps on a directory whose server may not use the kernel's handles.
func TestStepsByName(t *testing.T) {
	t.Parallel()
	testSteps(t, withoutHandles, directory, sizes{data: 16 << 20, entries: 2000, fio: 16})
}

// TestSteps runs the steps on a directory. It takes longest, so it must start early. Therefore it
// and TestStepsByName are not subtests of one test: parallel subtests start after all parallel
// tests here.
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
			m := machine{Siw: siw}
			if !*full { // otherwise gigabytes
				m.Capture = filepath.Join(evidence.Dir(t), "pcap")
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

// inFull returns the variants of siw that run all steps.
func inFull() []string {
	if *full {
		return variants
	}
	return variants[:1]
}

// runSteps mounts exports in a guest, and runs steps there. The guest must offer chunks of each
// kind.
func (s *nfsd) runSteps(t *testing.T, sh *shell, exports, names []string, n sizes) {
	t.Helper()
	data := random(t, n.data)
	sh.g.put("data", data)
	for _, export := range exports {
		t.Run(export[1:], func(t *testing.T) {
			m := s.mount(t, sh, export)
			for _, name := range names {
				t.Run(name, func(t *testing.T) { m.timed(t, name, n) })
			}
			c := m.counters(t)
			t.Logf("%+v", c)
			if c.ReadChunks == 0 || c.WriteChunks == 0 || c.ReplyChunks == 0 {
				t.Errorf("the client has not offered chunks of each kind: %+v", c)
			}
			m.unmount(t)
		})
	}
	if slices.Contains(exports, directory) {
		checkFile(t, filepath.Join(s.dir, "data", "data"), data)
	}
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

// allSteps returns the names of all steps, data first.
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

// step runs a step in a new directory, which it leaves there. The data is in /host/data.
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
