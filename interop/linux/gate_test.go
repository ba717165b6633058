//go:build interop

package linux

import (
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// The tests named TestGate are the gate's (make interop). They boot four guests, and do in short
// what the other tests do at length.

// gateSizes is the amount of work for the gate's steps.
var gateSizes = sizes{data: 1<<20 + 1, entries: 150, fio: 16}

// TestGateSIW mounts both file systems over siw, and runs all steps.
func TestGateSIW(t *testing.T) {
	t.Parallel()
	testVariant(t, stock, allSteps(t), gateSizes)
}

// TestGateRXE mounts a directory over rdma_rxe, and runs all steps.
func TestGateRXE(t *testing.T) {
	t.Parallel()
	testRXE(t, []string{directory}, gateSizes)
}

// TestGateKnfsd runs our client and commands against the kernel's NFS server on siw and rdma_rxe.
func TestGateKnfsd(t *testing.T) {
	t.Parallel()
	w := newWire(t, faultnet.Way{})
	pcap := filepath.Join(evidence.Dir(t), "pcap")
	k := bootKnfsd(t, machine{RXE: w.card, Capture: pcap})
	k.run(t, "setups", "mountd", "credits", "commands", "copies", "users", "find", "draft")
	t.Run("rdma_rxe", func(t *testing.T) { k.overRXE(t, w, 1<<20+3, 0) })
	k.end(t)
	k.checkCapture(t, pcap)
	w.endKnfsd(t)
}

// TestGateKerberos is TestKerberos without restarts, lost replies and expired tickets.
func TestGateKerberos(t *testing.T) {
	t.Parallel()
	testKerberos(t, false)
}
