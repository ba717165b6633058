//go:build interop

package linux

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// TestOptions mounts servers that restrict clients, and one without RDMA.
func TestOptions(t *testing.T) {
	t.Parallel()
	g, sh := bootShells(t, machine{}, 1)
	n := sizes{data: 4<<20 + 1}
	g.put("data", random(t, n.data))
	for _, export := range exports {
		// Without RDMA on the client: directly, and through the gateway, which reaches the server
		// only over RDMA.
		overTCP := func(t *testing.T, port int) {
			t.Helper()
			m := newMount(t, sh[0], "192.0.2.2:"+export, "vers=3", "proto=tcp", fmt.Sprintf("port=%d", port),
				fmt.Sprintf("mountport=%d", port), "mountproto=tcp", "nolock", "noresvport")
			for _, name := range []string{"data", "rename", "symlinks"} {
				m.step(t, name, n)
			}
			m.unmount(t)
		}
		t.Run("tcp"+export, func(t *testing.T) {
			s := serve(t)
			overTCP(t, s.TCP)
			s.stop(t)
		})
		t.Run("gateway"+export, func(t *testing.T) {
			s := serve(t)
			gw := served.StartGateway(t, command, "--to", fmt.Sprintf("rdma://127.0.0.1:%d", s.RDMA))
			overTCP(t, gw.Port)
			gw.Stop()
			s.stop(t)
		})
		t.Run("draft"+export, func(t *testing.T) { draftServer(t, sh[0], export, n) })
		restricted(t, sh[0], export, serve)
	}
	g.closeShells(sh)
	g.wait(t)
}

// restricted mounts an export of servers that restrict clients.
func restricted(t *testing.T, sh *shell, export string,
	serve func(t *testing.T, options ...string) *nfsd) {
	run := func(t *testing.T, m *mount, script string) {
		t.Helper()
		sh.run(t, source(t, "prelude")+"cd "+m.at+"\n"+script)
		m.unmount(t)
	}
	t.Run("squash"+export, func(t *testing.T) {
		// The owner may write. The anonymous user is not the owner.
		s := serve(t, "--squash", "root", "--anonuid", "4242", "--anongid", "4343")
		if export == memory {
			run(t, s.mount(t, sh, export), `
				same "who makes a file" "$(touch file && stat -c %u:%g file)" 4242:4343
				refused "not permitted" chown 1 file
				as 1000 1000 - touch other
				same "who else makes a file" "$(stat -c %u:%g other)" 1000:1000`)
		} else {
			run(t, s.mount(t, sh, export), `
				same "owner" "$(stat -c %u .)" 0
				refused "Permission denied" touch file`)
		}
		s.stop(t)
	})
	t.Run("read-only"+export, func(t *testing.T) {
		s := serve(t, "--read-only")
		run(t, s.mount(t, sh, export), `refused "Read-only file system" touch file`)
		s.stop(t)
	})
	t.Run("allow"+export, func(t *testing.T) {
		s := serve(t, "--allow", "198.51.100.0/24")
		got := sh.run(t, fmt.Sprintf("mkdir -p /mnt/refused\n! mount.nfs %s:%s /mnt/refused "+
			"-o vers=3,proto=rdma,port=%d,mountport=%d,mountproto=tcp,nolock,retry=0\n",
			s.host, export, s.RDMA, s.TCP))
		// The reset may come when the guest takes the connection to be made, or before.
		if !strings.Contains(got, "Connection reset by peer") && !strings.Contains(got, "Connection refused") {
			t.Errorf("mount says %q, want that the connection is reset or refused", got)
		}
		s.stop(t)
	})
}
