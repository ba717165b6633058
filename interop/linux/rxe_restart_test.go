//go:build interop

package linux

import (
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// rxeMoved is more than the server has been asked for when it is stopped, because it still does
// that much.
const rxeMoved = 64<<20 + 1

// TestRXEKnfsdRestart restarts the kernel's server on rdma_rxe, and cuts the network, while
// commands are at work.
func TestRXEKnfsdRestart(t *testing.T) {
	t.Parallel()
	w := newWire(t, faultnet.Way{})
	k := bootKnfsd(t, machine{RXE: w.card})
	k.stopped(t, "rdma", func(t *testing.T) passage {
		w.slow(t)
		return passage{size: rxeMoved, url: w.url, stop: func(t *testing.T) {
			t.Helper()
			w.await(t, func(host, guest roceCounts) bool { return host.Payload+guest.Payload >= heldAt })
			k.sh[0].run(t, knfsdStop)
		}}
	})
	t.Run("cut changes", func(t *testing.T) {
		cuts := 0
		k.changesOnce(t, w.url, func(r *running) {
			if cuts++; cuts > 2 { // each takes as long as either end needs to give up
				return
			}
			w.slow(t)
			w.await(t, func(host, _ roceCounts) bool { return host.Packets > 50 })
			// Calls arrive, and replies are lost.
			w.SetWay(faultnet.Down, faultnet.Way{Loss: 1, Buffer: 4 << 20})
			r.await(t, "does not respond")
			w.SetWay(faultnet.Down, faultnet.Way{Buffer: 4 << 20})
		})
	})
	k.end(t)
	w.seen.end(t)
}

// slow limits a wire to 8 MB/s and 5 ms each way for the rest of a test, and resets its counts.
func (w *wire) slow(t *testing.T) {
	set := func(way faultnet.Way) {
		way.Buffer = 4 << 20
		w.SetWay(faultnet.Up, way)
		w.SetWay(faultnet.Down, way)
	}
	set(faultnet.Way{Bandwidth: 8_000_000, Delay: 5 * time.Millisecond})
	t.Cleanup(func() { set(faultnet.Way{}) })
	w.seen.reset()
}

// await waits until a wire's counts are as wanted.
func (w *wire) await(t *testing.T, enough func(host, guest roceCounts) bool) {
	t.Helper()
	for deadline := time.Now().Add(silence); !enough(w.seen.soFar()); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("too little has passed in %v", silence)
		}
	}
}
