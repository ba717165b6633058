package budget

import (
	"math"
	"net"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// call is what waits for memory.
type call struct {
	Request[call]
	id, conn int
	n        int64
}

// rig is a Budget with a connection for each of some hosts.
type rig struct {
	*Budget[call]
	shares []*Share[call]
}

func newRig(size, limit int64, hosts ...int) *rig {
	r := &rig{Budget: New[call](size)}
	for _, h := range hosts {
		r.shares = append(r.shares, r.join(h, limit))
	}
	return r
}

func (r *rig) join(i int, limit int64) *Share[call] {
	s := new(Share[call])
	r.Join(s, hostOf(i), limit)
	return s
}

func hostOf(i int) peerhost.Host {
	return peerhost.Of(&net.TCPAddr{IP: net.IPv4(10, byte(i>>16), byte(i>>8), byte(i))})
}

// idle checks that no connection has memory or waits, and that no host is remembered once all
// connections have ended.
func (r *rig) idle(t interface{ Errorf(string, ...any) }) {
	if r.Free() != r.Size() || r.Queued() != 0 || r.starved.Len() != 0 {
		t.Errorf("%d free of %d, %d waiting, %d hosts waiting", r.Free(), r.Size(), r.Queued(),
			r.starved.Len())
	}
	if r.lending.First() != nil || r.recalling {
		t.Errorf("something is lent, or recalled")
	}
	for _, s := range r.shares {
		s.Leave()
	}
	if len(r.hosts) != 0 {
		t.Errorf("%d hosts are known without a connection", len(r.hosts))
	}
}

func ids(calls []*call) (all []int) {
	for _, c := range calls {
		all = append(all, c.id)
	}
	return all
}

func diff(want, got []int) string { return cmp.Diff(want, got, cmpopts.EquateEmpty()) }

const unlimited = math.MaxInt64
