//go:build interop

package linux

import (
	"fmt"
	"testing"
)

// steps runs the steps in the guest over each transport, with checksums and with encryption. The
// guest's root calls as the machine, and the server maps that to root. It skips the step on
// permissions, whose callers name groups, because with Kerberos callers name none.
func (r *realm) steps(t *testing.T, sh *shell) {
	n := sizes{data: 8<<20 + 1, entries: 1000, fio: 16}
	sh.g.put("data", random(t, n.data))
	roots := r.write(t, fmt.Sprintf("nfs/%s@%s 0:0\n", guestName, r.Realm), 0o600)
	ways := r.ways(t, "--squash", "none", "--map-users", roots)
	for _, w := range ways {
		for _, sec := range protections[1:] {
			t.Run(w.name+"/"+sec, func(t *testing.T) {
				m := newMount(t, sh, w.server.host+":"+memory, append(w.options, "sec="+sec)...)
				for _, name := range allSteps(t) {
					if name != "permissions" {
						t.Run(name, func(t *testing.T) { m.timed(t, name, n) })
					}
				}
				m.unmount(t)
			})
		}
	}
	stop(t, ways)
}
