//go:build interop

package linux

import (
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// protections are what RPCSEC_GSS does with Kerberos, as mount's option sec= and the command's URLs
// name it.
var protections = []string{"krb5", "krb5i", "krb5p"}

// TestKerberos has one guest and us prove to each other who we are: Linux mounts what we serve, and
// our commands reach what it serves, over TCP, siw and rdma_rxe. The KDC is MIT's.
func TestKerberos(t *testing.T) {
	t.Parallel()
	w := newWire(t, faultnet.Way{})
	r := newRealm(t, w)
	seen := newTrail(t, w)
	k := &knfsd{RDMA: freePort(t), TCP: freePort(t), Mount: freePort(t)}
	k.guest, k.sh = bootShells(t, machine{
		RXE: w.card, Capture: seen.eth0, Limit: longLimit(),
		Forwards: []forward{{k.RDMA, rdmaPort}, {k.TCP, nfsPort}, {k.Mount, mountPort}},
	}, 2)
	r.join(t, k.sh[0])
	words := newPlainText(t)
	if *full {
		t.Run("steps", func(t *testing.T) { r.steps(t, k.sh[0]) })
	}
	for _, part := range []struct {
		name string
		test func(*testing.T)
	}{
		{"mount", func(t *testing.T) { r.mounted(t, k.sh, words) }},
		{"knfsd", func(t *testing.T) { r.knfsd(t, k) }},
	} {
		if !t.Run(part.name, part.test) {
			t.FailNow() // something may still be under way in the guest
		}
	}
	k.end(t, loaded, compressed)
	w.seen.flush(t)
	t.Run("wire", func(t *testing.T) { r.checkWire(t, seen, words) })
}

// compressed is what kernels say whose modules are, as those of the backports, when busybox's
// modprobe first tries them as they are.
const compressed = `Invalid ELF header magic: != `
