//go:build interop

package linux

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/nfsclients"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/portmapper"
	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// gateway lets clients without RDMA reach the server over RDMA. They get the gateway's port if they
// take one, and otherwise find it with this machine's rpcbind.
func (k *knfsd) gateway(t *testing.T) {
	_, done, err := portmapper.Use()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := done(); err != nil {
			t.Error(err)
		}
	})
	g := served.StartGateway(t, command, "--to", "rdma://"+local(k.RDMA), "--mount-to", "tcp://"+local(k.Mount), "--rpcbind")
	// which reach the server itself, and find MOUNT by rpcbind: here the gateway's
	t.Run("commands", func(t *testing.T) {
		want := k.do(t, "ls", "-l", k.url("rdma", open))
		if got := k.do(t, "ls", "-l", "rdma://"+local(k.RDMA)+open); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
	for i, c := range nfsclients.All {
		servers := map[string]nfsclients.Server{"port mapper": {Host: "127.0.0.1"}}
		if c.Ports {
			servers["ports"] = nfsclients.Server{Host: "127.0.0.1", NFS: g.Port, Mount: g.Port}
		}
		for how, s := range servers {
			t.Run(c.Name+" by "+how, func(t *testing.T) {
				dir := fmt.Sprintf("gateway-%d-%d", i, len(how))
				if c.Name == "libnfs" { // it cannot make one
					k.sh[0].run(t, "mkdir /export/"+dir)
				}
				c.Check(t, s, open, dir)
				if c.Name == "libnfs" { // nor remove it
					k.checkSum(t, open+"/"+dir+"/file-5-of-5242883", nfsclients.Data(5<<20+3))
				}
			})
		}
	}
	g.Stop()
}
