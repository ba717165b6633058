package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/cmd/rpcrdma/internal/rig"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
)

// TestPutChanged: put copies a file that is truncated meanwhile once more, as it is then.
func TestPutChanged(t *testing.T) {
	for _, scheme := range schemes {
		for _, option := range []string{"-q", "--sparse"} {
			t.Run(scheme+option, func(t *testing.T) {
				var source atomic.Pointer[string]
				r, _ := startStepped(t, func(_ context.Context, p nfs3.Proc, _ int64) {
					if p != nfs3.ProcWrite {
						return
					}
					if name := source.Swap(nil); name != nil {
						if err := os.Truncate(*name, 1000); err != nil {
							t.Error(err)
						}
					}
				})
				dir := t.TempDir()
				up := rig.Write(t, filepath.Join(dir, "up"), interruptedData)
				source.Store(&up)
				done(t, r.exec(t, scheme, "put", option, up, "@/memory/file"))
				done(t, r.exec(t, scheme, "get", "-q", "@/memory/file", filepath.Join(dir, "down")))
				rig.Holds(t, filepath.Join(dir, "down"), interruptedData[:1000])
			})
		}
	}
}

// TestGetChanged: a file of the server that changes twice while it is read replaces nothing. To
// standard output, get cannot start again.
func TestGetChanged(t *testing.T) {
	var r *clientRig
	var left, at atomic.Int64
	at.Store(1e9)
	r, _ = startStepped(t, func(_ context.Context, p nfs3.Proc, _ int64) {
		if p == nfs3.ProcRead && left.Add(-1) >= 0 {
			done(t, r.exec(t, "tcp", "touch", "-d", fmt.Sprint("@", at.Add(1)), "@/memory/file"))
		}
	})
	dir := t.TempDir()
	up := rig.Write(t, filepath.Join(dir, "up"), []byte("content"))
	done(t, r.exec(t, "tcp", "put", up, "@/memory/file"))
	down := rig.Write(t, filepath.Join(dir, "down"), []byte("before"))
	left.Store(2)
	got := r.exec(t, "tcp", "get", "-q", "@/memory/file", down)
	if got.code != 1 || !strings.HasSuffix(got.stderr, "/memory/file: changed each time that it was read: not copied\n") {
		t.Errorf("got %+v", got)
	}
	rig.Holds(t, down, []byte("before"))
	left.Store(1)
	done(t, r.exec(t, "tcp", "get", "-q", "@/memory/file", down))
	rig.Holds(t, down, []byte("content"))
	left.Store(1)
	got = r.exec(t, "tcp", "get", "-q", "@/memory/file", "-")
	if got.code != 1 || !strings.HasSuffix(got.stderr, "/memory/file: changed while it was read\n") {
		t.Errorf("to standard output: %+v", got)
	}
}
