//go:build soak && linux

package hostile_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/served"
)

// TestSlow: the process of good clients only runs for a moment of each second, so they stop in the
// middle of messages, and take their data slowly. They keep their connections and get on, while
// another host attacks.
func TestSlow(t *testing.T) {
	command, err := served.Build(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for w, name := range map[way]string{
		byIWARP: "calls as fast as they are answered", bySCTP: "calls as fast as they are answered",
		byRoCE: "calls as fast as they are answered", byTCP: "TCP calls as fast as they go",
		byTLS: "TCP calls as fast as they go",
	} {
		t.Run(w.String(), func(t *testing.T) {
			t.Parallel()
			a := &attacks[indexOf(name, w)]
			_, where := serve(t, command, a, w)
			slow := launch(t, where, goodClients, w, 1)
			under := a.launch(t, where, w, scale*a.conns)
			defer under.end()
			defer slow.end() // fails if the client has lost its connection
			for range 20 {
				slow.signal(t, syscall.SIGSTOP)
				time.Sleep(time.Second)
				slow.signal(t, syscall.SIGCONT)
				time.Sleep(50 * time.Millisecond)
			}
		})
	}
}
