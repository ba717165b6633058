//go:build interop

package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/nfsclients"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// host is the address of all servers.
const host = "127.0.0.1"

// serve starts a server with a file system in memory and with a directory, which it returns. It is
// not in rpcbind.
func serve(t *testing.T) (s *served.Server, dir string) {
	t.Helper()
	dir = t.TempDir()
	return served.Start(t, command, "--memory", "/memory", "--export", "/directory="+dir, "--state", t.TempDir(), "--squash", "none"), dir
}

func to(s *served.Server) string { return fmt.Sprintf("rdma://%s:%d", host, s.RDMA) }

// at is the gateway for clients that take a port.
func at(g *served.Gateway) nfsclients.Server {
	return nfsclients.Server{Host: host, NFS: g.Port, Mount: g.Port}
}

// mapped is the gateway for clients that ask the port mapper.
var mapped = nfsclients.Server{Host: host}

// TestClients runs each client on each kind of export, with named ports and with the port mapper.
func TestClients(t *testing.T) {
	s, dir := serve(t)
	g := served.StartGateway(t, command, "--to", to(s), "--rpcbind")
	n := 0
	for _, c := range nfsclients.All {
		servers := map[string]nfsclients.Server{"port mapper": mapped}
		if c.Ports {
			servers["ports"] = at(g)
		}
		for how, server := range servers {
			for _, export := range []string{"/memory", "/directory"} {
				t.Run(c.Name+" by "+how+" "+export, func(t *testing.T) {
					name := fmt.Sprintf("dir-%d", n)
					n++
					mkdir(t, server, c, export, name)
					c.Check(t, server, export, name)
				})
			}
		}
	}
	// What libnfs has written is in the directory of the host.
	for _, name := range []string{"file-5-of-5242883", "file-4-of-300001"} {
		found, err := filepath.Glob(filepath.Join(dir, "dir-*", name))
		if err != nil || len(found) == 0 {
			t.Errorf("no %s on the host: %v", name, err)
		}
		for _, path := range found {
			var n int
			fmt.Sscanf(name, "file-%d-of-%d", new(int), &n)
			if got, err := os.ReadFile(path); err != nil || !slices.Equal(got, nfsclients.Data(n)) {
				t.Errorf("%s has %d bytes, %v, want the %d that were written", path, len(got), err, n)
			}
		}
	}
	g.Stop()
	s.Stop()
	for _, want := range []string{`failed=0 `, `failures=0 `, `rdma\.read_chunk=\d{8}`, `rdma\.write_chunk=\d{8}`, `msg=drained`} {
		if !regexp.MustCompile(want).MatchString(g.Log()) {
			t.Errorf("the gateway does not say %s", want)
		}
	}
}

// mkdir makes a directory for a client that cannot.
func mkdir(t *testing.T, s nfsclients.Server, c nfsclients.Client, export, name string) {
	t.Helper()
	if c.Name != "libnfs" {
		return
	}
	v, err := nfsclients.All[0].Mount(mapped, export)
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	if err := v.(nfsclients.Changer).Mkdir(name); err != nil {
		t.Fatal(err)
	}
}

// TestParallel uses ten connections at a time with both clients that keep a connection.
func TestParallel(t *testing.T) {
	s, _ := serve(t)
	g := served.StartGateway(t, command, "--to", to(s), "--rpcbind")
	nfsclients.CheckAll(t, nfsclients.All[:2], mapped, "/memory", 5)
	g.Stop()
	s.Stop()
}

// TestRestart kills the server and starts it again. Clients with a connection lose it, and go on
// with another. Their calls on that wait until the server is back.
func TestRestart(t *testing.T) {
	s, _ := serve(t)
	g := served.StartGateway(t, command, "--to", to(s), "--rpcbind")
	vmware := nfsclients.All[0]
	before, err := vmware.Mount(mapped, "/directory")
	if err != nil {
		t.Fatal(err)
	}
	data := nfsclients.Data(300_001)
	if err := before.Write("before", data); err != nil {
		t.Fatal(err)
	}
	s.Kill()
	if _, err := before.Read("before"); err == nil { // it does not connect again
		t.Error("a file was read while the server was away")
	}
	var after nfsclients.Volume
	mounted := make(chan error)
	go func() {
		var err error
		after, err = vmware.Mount(mapped, "/directory")
		mounted <- err
	}()
	s.Restart()
	if err := <-mounted; err != nil {
		t.Fatal(err)
	}
	if got, err := after.Read("before"); err != nil || !slices.Equal(got, data) {
		t.Errorf("got %d bytes, %v, want the %d that were written", len(got), err, len(data))
	}
	vmware.Check(t, mapped, "/directory", "after")
	if err := after.Close(); err != nil {
		t.Error(err)
	}
	g.Stop()
	s.Stop()
}
