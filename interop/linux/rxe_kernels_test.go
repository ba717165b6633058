//go:build interop

package linux

import (
	"fmt"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// movedSize is how much TestRXEKernels moves each way.
const movedSize = 32 << 20

// TestRXEKernels counts the packets with which two kernels move NFS data over rdma_rxe, and those
// between a kernel and our server. Each end sends about as many packets in the second case, or
// fewer.
func TestRXEKernels(t *testing.T) {
	t.Parallel()
	w := unusedWire(t)
	server, client := newCard(t, w.host), newCard(t, w.guest)
	w.join(t, server, client, faultnet.Way{})
	k := new(knfsd)
	k.guest, k.sh = bootShells(t, machine{RXE: server}, 1)
	k.sh[0].run(t, knfsdScript)
	k.sh[0].run(t, knfsdStart)
	g, sh := bootShells(t, machine{RXE: client}, 1)
	m := newMount(t, sh[0], w.host.String()+":"+open, "vers=3", "proto=rdma",
		fmt.Sprintf("port=%d", rdmaPort), fmt.Sprintf("mountport=%d", mountPort),
		"mountproto=tcp", "nolock", "noresvport")
	t.Log("two kernels:")
	kernels := m.countPackets(t, w)
	m.unmount(t)
	g.closeShells(sh)
	g.wait(t)
	k.end(t)
	w.seen.end(t)

	w = newWire(t, faultnet.Way{})
	s := serveRXE(t, w)
	g, sh = bootShells(t, machine{RXE: w.card}, 1)
	m = s.mount(t, sh[0], memory)
	t.Log("this project's server:")
	ours := m.countPackets(t, w)
	m.unmount(t)
	g.closeShells(sh)
	g.wait(t)
	s.stop(t)
	w.seen.end(t)

	for i, o := range ours {
		// On a busy machine a packet may be late, sent again, and acknowledged twice.
		again := ours[i^1].Retransmitted
		if o.Retransmitted > o.Packets/10 {
			t.Errorf("%s sends %d of %d packets again", movedBy[i], o.Retransmitted, o.Packets)
		}
		for _, n := range []struct {
			what          string
			kernels, ours int
		}{
			{"packets", kernels[i].Packets - kernels[i].Acks, o.Packets - o.Acks - o.Retransmitted},
			{"acknowledgements", kernels[i].Acks, o.Acks - again},
		} {
			// How many packets an acknowledgement is for varies.
			if most := n.kernels*5/4 + movedSize>>20; n.ours > most {
				t.Errorf("%s has %d %s, %d between kernels", movedBy[i], n.ours, n.what, n.kernels)
			}
		}
	}
}

// movedBy names the counts of countPackets.
var movedBy = [...]string{
	"written, the server", "written, the client", "read, the server", "read, the client",
}

// countPackets writes and reads a file, and counts what each end sends. The server is at the host's
// end of the wire.
func (m *mount) countPackets(t *testing.T, w *wire) (counts [len(movedBy)]roceCounts) {
	t.Helper()
	for i, script := range []string{
		"dd if=/dev/urandom of=%s/moved bs=1M count=%d conv=fsync status=none",
		"echo 3 >/proc/sys/vm/drop_caches && dd if=%s/moved of=/dev/null bs=1M count=%d status=none",
	} {
		w.seen.reset()
		m.sh.run(t, fmt.Sprintf(script, m.at, movedSize>>20))
		counts[2*i], counts[2*i+1] = w.seen.soFar()
	}
	for i := range counts {
		t.Logf("%s: %s", movedBy[i], counts[i].per(movedSize))
	}
	return counts
}
