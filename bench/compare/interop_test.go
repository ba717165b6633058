//go:build interop

package main

import (
	"os"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// TestInstalled runs all workloads with Ganesha and libnfs, in namespaces of its own. It needs root
// and Debian's nfs-ganesha-vfs, rpcbind, libnfs-dev and gcc.
func TestInstalled(t *testing.T) {
	if isolated() != nil {
		done, code := isolate(t.Context())
		if !done {
			t.Fatal("namespaces cannot be made: this takes root")
		}
		if code != 0 {
			t.Fatalf("in namespaces the tests end with exit code %d", code)
		}
		return
	}
	undo, err := prepare(host.DefaultCongestion)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := undo(); err != nil {
			t.Error(err)
		}
	}()
	got, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil || string(got) != host.DefaultCongestion+"\n" {
		t.Errorf("congestion control: got %q, %v, want %s", got, err, host.DefaultCongestion)
	}
	dir := t.TempDir()
	for _, c := range contenders {
		if c.missing == nil {
			continue
		}
		if err := c.missing(dir); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, w := range append([]workload{small}, workloads...) {
			t.Run(c.name+"/"+w.String(), func(t *testing.T) { do(t, c, w, 3*w.inFlight) })
		}
	}
}
