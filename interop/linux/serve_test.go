//go:build interop

package linux

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// The exports of every server.
const (
	memory    = "/memory"
	directory = "/directory"
)

// exports has all exports.
var exports = []string{memory, directory}

// nfsd is a server of ours.
type nfsd struct {
	*served.Server
	host  string // under which guests reach it
	dir   string // what is exported as directory
	state string
}

// serve starts a server of both exports with more options.
func serve(t *testing.T, options ...string) *nfsd {
	t.Helper()
	return serveBy(t, nil, options...)
}

// withoutHandles runs a command that may not open files by the kernel's handles.
var withoutHandles = []string{"setpriv", "--inh-caps=-dac_read_search", "--bounding-set=-dac_read_search"}

// serveBy is serve through a command that runs others.
func serveBy(t *testing.T, by []string, options ...string) *nfsd {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("this takes root: the server gives files to other users, and makes devices")
	}
	s := newNFSD(t, "192.0.2.2")
	s.Server = served.StartBy(t, by, command, s.options(options)...)
	names, err := filepath.Glob(filepath.Join(s.state, "*", "names.*"))
	if err != nil || (len(names) > 0) != (by != nil) {
		t.Fatalf("the server finds files by their names, or not: %q, %v", names, err)
	}
	return s
}

// newNFSD returns a server that is not yet started.
func newNFSD(t *testing.T, host string) *nfsd {
	return &nfsd{host: host, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
}

// options returns the options of the command.
func (s *nfsd) options(more []string) []string {
	return append([]string{
		"--memory", memory, "--memory-size", "3GiB", "--export", directory + "=" + s.dir,
		"--state", s.state, "--squash", "none",
	}, more...)
}

// stop stops the server in order, and logs its CPU time.
func (s *nfsd) stop(t *testing.T) {
	t.Helper()
	t.Logf("the server took %.1f s of processor time", s.Stop().Seconds())
}

// mount mounts an export in a guest over RDMA, with more options.
func (s *nfsd) mount(t *testing.T, sh *shell, export string, options ...string) *mount {
	t.Helper()
	return s.mountBy(t, sh, s.RDMA, export, options...)
}

// mountBy mounts through another port, such as a proxy's.
func (s *nfsd) mountBy(t *testing.T, sh *shell, port int, export string, options ...string) *mount {
	t.Helper()
	return newMount(t, sh, s.host+":"+export, append([]string{
		"vers=3", "proto=rdma", fmt.Sprintf("port=%d", port), fmt.Sprintf("mountport=%d", s.TCP), "mountproto=tcp", "nolock", "noresvport",
	}, options...)...)
}
