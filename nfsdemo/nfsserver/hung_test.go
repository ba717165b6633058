package nfsserver_test

import (
	"sync"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// TestHungDisk: a file system that hangs with more calls than the server has workers does not hold
// up another one.
func TestHungDisk(t *testing.T) {
	hung, fine := newWorld(t), newWorld(t)
	fs := held{blocking{hung.fs}, make(chan struct{}, 1000), make(chan struct{})}
	x := export(blocking{fine.fs})
	x.Path = "/fine"
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{export(fs), x}})
	var all sync.WaitGroup
	for range 600 { // of 256 places
		c := nfsOn(pipe.New(rpc, pipe.Inline), auth(t, 0))
		all.Go(func() {
			if got := getAttr(t, c, hung.file); got != nfs3.OK {
				t.Errorf("the file system that hung: %v", got)
			}
		})
	}
	for range 192 {
		<-fs.began
	}
	c := nfsOn(pipe.New(rpc, pipe.Inline), auth(t, 0))
	for range 100 {
		if got := getAttr(t, c, fine.file); got != nfs3.OK {
			t.Errorf("the other: %v", got)
		}
	}
	close(fs.goOn)
	all.Wait()
}
