//go:build interop

package linux

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/interop/internal/evidence"
)

// inlineSizes are the client's limits for one inline message.
var inlineSizes = []int{1024, 4096, 65536}

// TestMatrix moves data with all sizes of READ, WRITE and inline messages that Linux can be set to.
// The server's inline size is 4096 bytes, or more if the client's is.
func TestMatrix(t *testing.T) {
	t.Parallel()
	n := sizes{data: 1<<20 + 4096 + 3}
	callSizes := []int{4096, 32768, 1 << 20}
	if *full {
		n.data = 16<<20 + 3
		callSizes = nil
		for size := 4096; size <= 1<<20; size *= 2 {
			callSizes = append(callSizes, size)
		}
	}
	for _, siw := range inFull() {
		t.Run(siw, func(t *testing.T) {
			t.Parallel()
			narrow, wide := serve(t), serve(t, "--inline", "65536")
			m := machine{Siw: siw}
			if !*full { // it would be gigabytes
				m.Capture = filepath.Join(evidence.Dir(t), "pcap")
			}
			g, sh := bootShells(t, m, 1)
			g.put("data", random(t, n.data))
			for _, inline := range inlineSizes {
				s := narrow
				if inline > 4096 {
					s = wide
				}
				sh[0].run(t, fmt.Sprintf("set -e\nsysctl -w sunrpc.rdma_max_inline_read=%[1]d\nsysctl -w sunrpc.rdma_max_inline_write=%[1]d\n", inline))
				for _, size := range callSizes {
					for _, export := range exports {
						t.Run(fmt.Sprintf("inline %d, calls of %d, %s", inline, size, export[1:]), func(t *testing.T) {
							m := s.mount(t, sh[0], export, fmt.Sprintf("rsize=%d,wsize=%d", size, size))
							m.timed(t, "data", n)
							checkChunks(t, m.counters(t), inline, size)
							m.unmount(t)
						})
					}
				}
			}
			g.closeShells(sh)
			g.wait(t)
			for _, s := range []*nfsd{narrow, wide} {
				s.stop(t)
				if m.Capture != "" {
					checkCapture(t, m.Capture, s)
				}
			}
		})
	}
}

// checkChunks checks the RDMA transfers for these sizes of messages and calls.
func checkChunks(t *testing.T, c counters, inline, size int) {
	t.Helper()
	t.Logf("%+v", c)
	// A call or reply has about two hundred bytes in addition to the data. siw's Sends have six
	// parts. The client keeps three of them, so it sends at most three pages inline.
	if got, want := c.Read > 0, size+512 > inline; got != want {
		t.Errorf("data was read by RDMA: %v, want %v", got, want)
	}
	if got, want := c.ReadChunks > 0, size+512 > inline || size > 3*4096; got != want {
		t.Errorf("data was written by RDMA: %v, want %v", got, want)
	}
}
