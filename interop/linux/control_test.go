//go:build interop

package linux

import (
	"testing"
)

// control runs the steps with the kernel's own server. A failure there is an error in the step.
func control(t *testing.T) {
	n := sizes{data: 16 << 20, entries: 1000, fio: 16}
	g, sh := bootShells(t, machine{}, 1)
	g.put("data", random(t, n.data))
	sh[0].run(t, knfsdScript+knfsdStart)
	m := newMount(t, sh[0], "127.0.0.1:/export", "vers=3", "proto=tcp", "nolock")
	for _, name := range allSteps(t) {
		t.Run(name, func(t *testing.T) { m.timed(t, name, n) })
	}
	m.unmount(t)
	g.closeShells(sh)
	g.wait(t, `NFSD: `)
}
