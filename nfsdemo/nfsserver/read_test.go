package nfsserver_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// failing is a file system whose Read fails after it has returned data.
type failing struct {
	vfs.FS
	err      error
	released atomic.Int32
}

func (f *failing) Read(_ context.Context, _ *vfs.Cred, _ nfs3.FH, _ uint64, _ int, r *vfs.ReadResult) error {
	r.Data = append(r.Data, []byte("some"))
	r.Release = f
	return f.err
}

func (f *failing) Release() { f.released.Add(1) }

// TestFailedRead: the data that a failed READ returned is released.
func TestFailedRead(t *testing.T) {
	for _, err := range []error{nfs3.ErrIO, errors.New("no status")} {
		fs := &failing{FS: newFS(t), err: err}
		rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashNone}}}}})
		c := nfsclient.New(pipe.New(rpc, pipe.Chunked), auth(t, 0))
		if _, err := c.Read(t.Context(), fs.Root(), 0, make([]byte, 10)); err == nil {
			t.Error("no error")
		}
		if n := fs.released.Load(); n != 1 {
			t.Errorf("%v: released %d times", err, n)
		}
	}
}
