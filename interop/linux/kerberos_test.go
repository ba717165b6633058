//go:build interop

package linux

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// protections are the levels of protection with Kerberos, as named by mount's option sec= and by
// the command's URLs.
var protections = []string{"krb5", "krb5i", "krb5p"}

// TestKerberos authenticates a guest and us to each other, with MIT's KDC. Linux mounts our
// exports, and our commands use those of Linux, over TCP, siw and rdma_rxe.
func TestKerberos(t *testing.T) {
	t.Parallel()
	testKerberos(t, true)
}

// testKerberos is TestKerberos with or without what takes long.
func testKerberos(t *testing.T, long bool) {
	t.Helper()
	w := newWire(t, faultnet.Way{})
	r := newRealm(t, w)
	seen := newTrail(t, w)
	k := &knfsd{RDMA: freePort(t), TCP: freePort(t), Mount: freePort(t)}
	k.guest, k.sh = bootShells(t, machine{
		RXE: w.card, Capture: seen.eth0,
		Forwards: []forward{{k.RDMA, rdmaPort}, {k.TCP, nfsPort}, {k.Mount, mountPort}},
	}, 2)
	r.join(t, k.sh[0])
	words := newPlainText(t)
	if long && *full {
		t.Run("steps", func(t *testing.T) { r.steps(t, k.sh[0]) })
	}
	ok := t.Run("mount", func(t *testing.T) { r.mounted(t, k.sh, words) })
	if ok && long {
		ok = t.Run("recovery", func(t *testing.T) { r.recovers(t, k.sh) })
	}
	if !ok || !t.Run("knfsd", func(t *testing.T) { r.knfsd(t, k) }) {
		t.FailNow() // something may still be under way in the guest
	}
	k.end(t, loaded, compressed)
	w.seen.flush(t)
	t.Run("wire", func(t *testing.T) { r.checkWire(t, seen, words) })
}

// compressed is a message of kernels with compressed modules, such as those of the backports, when
// busybox's modprobe first tries to load the compressed file.
const compressed = `Invalid ELF header magic: != `
