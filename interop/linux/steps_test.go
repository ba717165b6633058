//go:build interop

package linux

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"testing"
)

// steps are scripts, each of which does something with a directory of a mount, and fails if that is not as it should be.
// prelude.sh says what they can rely on.
//
//go:embed steps
var steps embed.FS

// sizes is how much the steps do.
type sizes struct {
	data    int // bytes there and back
	entries int // of a large directory
	fio     int // MiB
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
