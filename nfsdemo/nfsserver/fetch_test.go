package nfsserver_test

import (
	"math"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// TestNothingFetched: the data of a refused call is not fetched.
func TestNothingFetched(t *testing.T) {
	p := make([]byte, 4097)
	writeAt := func(off uint64) func(h nfs3.FH) oncrpc.Marshaler {
		return func(h nfs3.FH) oncrpc.Marshaler {
			return &nfs3.WriteArgs{File: h, Offset: off, Count: uint32(len(p)), Data: [][]byte{p}}
		}
	}
	link := func(n int) func(h nfs3.FH) oncrpc.Marshaler {
		return func(h nfs3.FH) oncrpc.Marshaler {
			return &nfs3.SymlinkArgs{Where: at(h, "new"), Path: string(make([]byte, n))}
		}
	}
	for name, tt := range map[string]struct {
		change func(*nfsserver.Config)
		proc   nfs3.Proc
		args   func(h nfs3.FH) oncrpc.Marshaler
		h      func(w *world) nfs3.FH
		want   nfs3.Status
		bytes  int64
	}{
		"WRITE":             {nil, nfs3.ProcWrite, writeAt(0), (*world).theFile, nfs3.OK, 4097},
		"WRITE, stale":      {nil, nfs3.ProcWrite, writeAt(0), func(w *world) nfs3.FH { return w.stale }, nfs3.ErrStale, 0},
		"WRITE, directory":  {nil, nfs3.ProcWrite, writeAt(0), (*world).theDir, nfs3.ErrIsDir, 0},
		"WRITE, too far":    {nil, nfs3.ProcWrite, writeAt(math.MaxInt64), (*world).theFile, nfs3.ErrFBig, 0},
		"WRITE, too much":   {func(c *nfsserver.Config) { c.MaxWrite = 4096 }, nfs3.ProcWrite, writeAt(0), (*world).theFile, nfs3.OK, 4096},
		"WRITE, read-only":  {func(c *nfsserver.Config) { c.Exports[0].Rules[0].ReadOnly = true }, nfs3.ProcWrite, writeAt(0), (*world).theFile, nfs3.ErrROFS, 0},
		"WRITE, not for us": {func(c *nfsserver.Config) { c.Exports[0].Rules[0].Clients = prefixes("::1/128") }, nfs3.ProcWrite, writeAt(0), (*world).theFile, nfs3.ErrAcces, 0},
		// Paths with NULs.
		"SYMLINK":                {nil, nfs3.ProcSymlink, link(4095), (*world).theDir, nfs3.ErrInval, 4095},
		"SYMLINK, too long":      {nil, nfs3.ProcSymlink, link(4097), (*world).theDir, nfs3.ErrNameTooLong, 0},
		"SYMLINK, read-only":     {func(c *nfsserver.Config) { c.Exports[0].Rules[0].ReadOnly = true }, nfs3.ProcSymlink, link(100), (*world).theDir, nfs3.ErrROFS, 0},
		"SYMLINK, not for us":    {func(c *nfsserver.Config) { c.Exports[0].Rules[0].Clients = prefixes("::1/128") }, nfs3.ProcSymlink, link(100), (*world).theDir, nfs3.ErrAcces, 0},
		"SYMLINK, stale, long":   {nil, nfs3.ProcSymlink, link(5000), func(w *world) nfs3.FH { return w.stale }, nfs3.ErrStale, 0},
		"SYMLINK, foreign, long": {nil, nfs3.ProcSymlink, link(5000), func(w *world) nfs3.FH { return w.foreign }, nfs3.ErrStale, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			cfg := nfsserver.Config{Exports: []nfsserver.Export{export(w.fs)}}
			if tt.change != nil {
				tt.change(&cfg)
			}
			conn := pipe.New(serve(t, cfg), pipe.Chunked)
			var got results = new(nfs3.WriteRes)
			if tt.proc == nfs3.ProcSymlink {
				got = new(nfs3.CreateRes)
			}
			if s := do(t, nfsOn(conn, auth(t, 0)), tt.proc, tt.args(tt.h(w)), got); s != tt.want {
				t.Errorf("got %v, want %v", s, tt.want)
			}
			if n := conn.Fetched(); n != tt.bytes {
				t.Errorf("%d bytes were fetched, want %d", n, tt.bytes)
			}
		})
	}
}

func (w *world) theFile() nfs3.FH { return w.file }
func (w *world) theDir() nfs3.FH  { return w.dir }
