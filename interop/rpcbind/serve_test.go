//go:build interop

package rpcbind

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/mount3"
	"github.com/rpcrdma/go-rpcrdma/nfsdemo/nfs3"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/rpcbind"
)

// rpcrdma serve --rpcbind is registered while it runs. If it is killed, the next one replaces its
// mappings.
func TestServe(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	c := local(t)
	if there := registered(t, c); len(there) > 0 {
		t.Fatalf("somebody has registered %v", there)
	}
	check := func(s *served.Server) {
		t.Helper()
		var want []rpcbind.Mapping
		for _, p := range [][2]uint32{{nfs3.Program, nfs3.Version}, {mount3.Program, mount3.Version}} {
			for netid, port := range map[string]int{rpcbind.NetidTCP: s.TCP, rpcbind.NetidRDMA: s.RDMA} {
				want = append(want, rpcbind.Mappings(p[0], p[1], netid, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), uint16(port)))...)
			}
			ready := fmt.Sprintf("program %d version %d ready and waiting", p[0], p[1])
			if got, err := rpcinfo(t, "-T", "tcp", "127.0.0.1", fmt.Sprint(p[0]), fmt.Sprint(p[1])); err != nil || !slices.Contains(got, ready) {
				t.Errorf("rpcinfo -T: got %q, %v, want %q", got, err, ready)
			}
		}
		got := registered(t, c)
		for _, m := range owned(want, me()) {
			if !slices.Contains(got, m) {
				t.Errorf("%v is not registered", m)
			}
		}
		if len(got) != len(want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	killed := served.Start(t, command, "--memory", "/export", "--rpcbind")
	check(killed)
	killed.Kill()
	if len(registered(t, c)) == 0 {
		t.Error("a server that was killed has left nothing")
	}
	next := served.Start(t, command, "--memory", "/export", "--rpcbind")
	check(next)
	next.Stop()
	if got := registered(t, c); len(got) > 0 {
		t.Errorf("left: %v", got)
	}
}
