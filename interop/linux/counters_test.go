//go:build interop

package linux

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// counters has some counters of a client's RDMA transport, named as in the kernel's
// xprt_rdma_print_stats.
type counters struct {
	Connects    int
	ReadChunks  int
	WriteChunks int
	ReplyChunks int
	Offered     int // bytes that the server could have written by RDMA
	Read        int // bytes that the server wrote by RDMA
	NoMsgs      int // calls that went by position-zero chunk
}

// counters reads the counters of a mount. It fails if the client met replies that it did not
// understand.
func (m *mount) counters(t *testing.T) counters {
	t.Helper()
	const script = `/ mounted on %s with /,/^device/s/^.*xprt:.rdma //p`
	line := m.sh.run(t, fmt.Sprintf("sed -n '"+script+"' /proc/self/mountstats",
		strings.ReplaceAll(m.at, "/", `\/`)))
	var n []int
	for _, f := range strings.Fields(line) {
		i, err := strconv.Atoi(f)
		if err != nil {
			t.Fatalf("the client's counters are %q", line)
		}
		n = append(n, i)
	}
	const (
		connects = 2
		badXIDs  = 7

		readChunks  = 10
		writeChunks = 11
		replyChunks = 12
		offered     = 13
		read        = 14
		badReplies  = 19
		noMsgs      = 20
	)
	if len(n) <= noMsgs {
		t.Fatalf("the client's counters are %q", line)
	}
	for _, i := range []int{badXIDs, badReplies} {
		if n[i] != 0 {
			t.Errorf("counter %d of the client is %d, want 0: %s", i, n[i], line)
		}
	}
	return counters{n[connects], n[readChunks], n[writeChunks], n[replyChunks], n[offered], n[read], n[noMsgs]}
}
