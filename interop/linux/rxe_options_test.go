//go:build interop

package linux

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// TestRXEOptions mounts over rdma_rxe with several sizes of READ and WRITE, over IPv6, and from
// servers that restrict clients.
func TestRXEOptions(t *testing.T) {
	t.Parallel()
	n := sizes{data: 1<<20 + 4096 + 3}
	w := newWire(t, faultnet.Way{})
	g, sh := bootShells(t, machine{RXE: w.card}, 1)
	g.put("data", random(t, n.data))
	for _, export := range exports {
		s := serveRXE(t, w)
		for _, size := range []int{4096, 32768, 1 << 20} {
			t.Run(fmt.Sprintf("calls of %d%s", size, export), func(t *testing.T) {
				m := s.mount(t, sh[0], export, fmt.Sprintf("rsize=%d,wsize=%d", size, size))
				m.step(t, "data", n)
				m.unmount(t)
			})
		}
		s.stop(t)
		t.Run("IPv6"+export, func(t *testing.T) {
			s := newNFSD(t, "["+w.host6.String()+"]")
			s.Server = served.StartAt(t, w.host6, command, s.options([]string{"--provider", "roce"})...)
			m := newMount(t, sh[0], s.host+":"+export, "vers=3", "proto=rdma6",
				"port=20049", "mountport=20048", "mountproto=tcp6", "nolock")
			for _, name := range []string{"data", "rename", "symlinks"} {
				m.step(t, name, n)
			}
			m.unmount(t)
			s.stop(t)
		})
		restricted(t, sh[0], export, func(t *testing.T, options ...string) *nfsd {
			t.Helper()
			return serveRXE(t, w, options...)
		})
	}
	g.closeShells(sh)
	g.wait(t)
	w.seen.end(t)
}
