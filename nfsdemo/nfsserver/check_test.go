package nfsserver_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/memfs"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/vfs"
)

// hanging is a file system whose GetAttr waits for a word, and fails if that is an error.
type hanging struct {
	vfs.FS
	asked chan struct{}
	word  chan error
}

func (h hanging) GetAttr(ctx context.Context, fh nfs3.FH) (nfs3.Fattr, error) {
	h.asked <- struct{}{}
	if err := <-h.word; err != nil {
		return nfs3.Fattr{}, err
	}
	return h.FS.GetAttr(ctx, fh)
}

// TestCheck: Check reports a file system that does not answer, and has only one request to it under
// way, however often it is called.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs, err := memfs.New(memfs.Config{})
		if err != nil {
			t.Fatal(err)
		}
		h := hanging{fs, make(chan struct{}, 9), make(chan error)}
		s, err := nfsserver.New(nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: h}}})
		if err != nil {
			t.Fatal(err)
		}
		check := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return s.Check(ctx)
		}
		for range 3 {
			if err := check(); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("while it hangs: %v", err)
			}
		}
		if n := len(h.asked); n != 1 {
			t.Errorf("it was asked %d times", n)
		}
		h.word <- nil
		synctest.Wait()
		for _, want := range []error{nfs3.ErrIO, nil} {
			go func() { h.word <- want }()
			if err := check(); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}
		}
	})
}
