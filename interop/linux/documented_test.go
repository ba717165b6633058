//go:build interop

package linux

import (
	"strings"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/mdblocks"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// documentedStart leaves the guest without RDMA devices. modprobe finds every module.
const documentedStart = `
umount /mnt 2>/dev/null
for link in rxe0 siw0; do rdma link del $link 2>/dev/null; done
for module in rdma_rxe siw nfsv3 nfs rpcrdma; do rmmod $module 2>/dev/null; done
extra=/lib/modules/$(uname -r)/extra
[ -e $extra/siw.ko ] || { mkdir -p $extra && cp /host/siw.ko $extra && depmod; }
`

// documentedCheck uses the mount that a block has made, and unmounts it.
const documentedCheck = `
if grep ' /mnt nfs ' /proc/mounts; then
	grep -q ' /mnt nfs .*proto=%PROTO%' /proc/mounts
	echo content >/mnt/file
	[ "$(cat /mnt/file)" = content ]
	umount /mnt
fi
`

// loaded matches messages of modules that are loaded or unloaded.
const loaded = `(rdma_rxe|siw): (un)?loaded|SoftiWARP (at|de)tached|RPC: (Unr|R)egistered rdma .*transport module`

// TestDocumented runs each block of commands for Linux in the documents in a guest. The server is
// at the other end of the wire, at the ports that are printed.
func TestDocumented(t *testing.T) {
	t.Parallel()
	w := newWire(t, faultnet.Way{})
	s := serveRXE(t, w, "--memory", "/export")
	g, shells := bootShells(t, machine{RXE: w.card}, 1)
	sh := shells[0]
	blocks, err := mdblocks.ReadAll("../..", "sh linux")
	if err != nil {
		t.Fatal(err)
	}
	guests := make(map[string]int)
	for _, b := range blocks {
		guests[b.Guest()]++
		proto := "rdma"
		if b.Guest() == "tcp" {
			proto = "tcp"
		}
		t.Run(b.String(), func(t *testing.T) {
			sh.run(t, documentedStart)
			commands := strings.NewReplacer("eth0", "eth1", "SERVER", w.host.String()).Replace(b.Text)
			t.Logf("%s\n%s", commands, sh.run(t, "set -ex\n"+commands+strings.ReplaceAll(documentedCheck, "%PROTO%", proto)))
		})
	}
	for _, guest := range []string{"rxe", "siw", "tcp"} {
		if guests[guest] == 0 {
			t.Errorf("the documents have no block for %s", guest)
		}
	}
	sh.run(t, documentedStart)
	g.closeShells(shells)
	g.wait(t, loaded)
	s.stop(t)
	w.seen.end(t)
}
