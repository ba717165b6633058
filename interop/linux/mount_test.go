//go:build interop

package linux

import (
	"fmt"
	"path"
	"strings"
	"testing"
)

// mount is a file system that a guest has mounted.
type mount struct {
	sh      *shell
	source  string // HOST:PATH
	at      string // where it is mounted
	options string
}

// newMount mounts a file system in a guest.
func newMount(t *testing.T, sh *shell, source string, options ...string) *mount {
	t.Helper()
	return newMountAt(t, sh, source, "/mnt/"+path.Base(source), options...)
}

// newMountAt is newMount at a directory. The kernel must confirm the transport that the options ask
// for.
func newMountAt(t *testing.T, sh *shell, source, at string, options ...string) *mount {
	t.Helper()
	m := &mount{sh: sh, source: source, at: at, options: strings.Join(options, ",")}
	got := sh.run(t, fmt.Sprintf("set -e\nmkdir -p %[2]s\nmount.nfs %[1]s %[2]s -o %[3]s\ngrep ' %[2]s ' /proc/mounts\n", m.source, m.at, m.options))
	t.Log(got)
	for _, o := range options {
		if strings.HasPrefix(o, "proto=") && !strings.Contains(got, ","+o+",") {
			t.Errorf("%s is mounted, with no %s: %s", source, o, got)
		}
	}
	return m
}

// unmount unmounts it.
func (m *mount) unmount(t *testing.T) {
	t.Helper()
	m.sh.run(t, "umount.nfs "+m.at)
}
