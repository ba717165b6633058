package matrix

import "slices"

// credits checks that the client never has more under way than the grant. These count: calls
// without a reply, and RDMA_DONEs until the reply to a later call (draft section 3.8). A DONE with
// nothing else under way is always allowed.
func (a *audit) credits() {
	if !a.ours[client] {
		return
	}
	most, calls := uint32(1), 0
	var dones []int // when
	under := make(map[uint32]int)
	for i := range a.log {
		e := &a.log[i]
		if e.kind != sent {
			continue
		}
		h, _, err := parseHeader(e.data)
		switch {
		case err != nil:
		case e.end == server:
			most = max(most, h.credit)
			at := under[h.xid]
			dones = slices.DeleteFunc(dones, func(d int) bool { return d < at })
			calls--
		case h.proc == done:
			dones = append(dones, e.at)
		default:
			under[h.xid] = e.at
			calls++
		}
		if e.end == client && calls+len(dones) > int(most) && (h.proc != done || calls+len(dones) > 1) {
			a.fail("%d calls and %d RDMA_DONEs under way, with a grant of %d", calls, len(dones), most)
		}
	}
}
