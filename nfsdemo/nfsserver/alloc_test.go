//go:build !race

// Under the race detector, sync.Pool drops items at random.

package nfsserver_test

import (
	"net"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/nfsdemo/internal/pipe"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsclient"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfsserver"
)

// TestAllocs: an export's rules for clients do not allocate.
func TestAllocs(t *testing.T) {
	w := newWorld(t)
	rpc := serve(t, nfsserver.Config{Exports: []nfsserver.Export{{Path: "/", FS: w.fs, Rules: []nfsserver.Rule{{Squash: nfsserver.SquashAll, Clients: prefixes("10.0.0.0/8", "::1/128")}}}}})
	for name, peer := range map[string]net.Addr{"IPv4": peer("10.1.2.3", 1), "IPv6": peer("::1", 1)} {
		c := nfsclient.New(pipe.NewFrom(rpc, pipe.Chunked, peer), auth(t, 0))
		p := make([]byte, 4096)
		call := func() {
			if _, err := c.Read(t.Context(), w.file, 0, p); err != nil {
				t.Fatal(err)
			}
		}
		for range 100 { // the memory of a call rests before it is reused
			call()
		}
		if n := testing.AllocsPerRun(100, call); n != 0 {
			t.Errorf("%s: READ: %v allocations", name, n)
		}
	}
}
