package iwarp_test

import (
	"bytes"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// verify checks, after the end, that the first good bytes of the peer's stream have had their
// effect, and the later ones none.
func (u *replayUpper) verify(good int) {
	u.t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.completed != u.posted {
		u.t.Errorf("%d of %d requests have completed", u.completed, u.posted)
	}
	sends := 0
	for _, m := range u.expect {
		if m.end <= good {
			sends++
		}
	}
	if u.received != sends {
		u.t.Errorf("got %d messages, want %d", u.received, sends)
	}
	u.verifyWindows(good)
	u.verifySinks(good)
}

func (u *replayUpper) verifyWindows(good int) {
	u.t.Helper()
	for i, got := range u.memory {
		w := &u.s.windows[i]
		want := bytes.Clone(w.initial)
		for _, f := range u.s.peer.fpdus {
			if f.end <= good && f.op == rdmap.OpWrite && f.header.STag == w.tag {
				copy(want[f.header.Offset-w.base:], f.payload)
			}
		}
		if !bytes.Equal(got, want) {
			u.t.Errorf("window %d is not what the peer's Writes make of it", i)
		}
	}
}

func (u *replayUpper) verifySinks(good int) {
	u.t.Helper()
	n := 0
	for _, step := range u.s.steps[:u.posted] {
		r := step.response
		if r == nil {
			continue
		}
		want := bytes.Clone(step.initial)
		for _, f := range u.s.peer.fpdus {
			if f.start >= r.start && f.end <= min(good, r.end) {
				copy(want[f.header.Offset-r.header.Offset:], f.payload)
			}
		}
		if !bytes.Equal(u.sinks[n], want) {
			u.t.Errorf("the sink of RDMA Read %d is not what the response makes of it", n)
		}
		n++
	}
}
