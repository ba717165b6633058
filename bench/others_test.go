package bench

import (
	"math"
	"testing"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/control"
	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// TestOthers: the CPU time of other processes at both ends. If client and server share CPUs,
// neither counts as another process.
func TestOthers(t *testing.T) {
	const s = time.Second
	apart := Options{ServerCPUs: []int{0, 1}, ClientCPUs: []int{2}}
	for _, tt := range []struct {
		name           string
		o              Options
		sameHost       bool
		client, server host.Usage // within a second
		want           float64
	}{
		{"nobody", apart, true, host.Usage{CPU: s, Busy: s}, host.Usage{CPU: 2 * s, Busy: 2 * s}, 0},
		{"at the client", apart, true, host.Usage{CPU: s / 2, Busy: s}, host.Usage{CPU: s, Busy: s}, .5},
		{"at the server, which has two CPUs", apart, true, host.Usage{CPU: s, Busy: s}, host.Usage{CPU: s, Busy: 2 * s}, .5},
		{"ticks that are not exact", apart, true, host.Usage{CPU: s, Busy: s - s/100}, host.Usage{}, 0},
		{"on the same CPUs", Options{ClientCPUs: []int{2}}, true, host.Usage{CPU: s / 4, Busy: s}, host.Usage{CPU: s / 2, Busy: s}, .25},
		{"on other hosts", Options{ClientCPUs: []int{2}}, false, host.Usage{CPU: s / 4, Busy: s / 2}, host.Usage{CPU: s / 2, Busy: s}, .25},
		{"a system that does not tell", apart, true, host.Usage{CPU: s}, host.Usage{CPU: s}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runner{o: tt.o, sameHost: tt.sameHost, info: &control.Info{CPUs: 2}}
			begin := used{at: time.Now()}
			if got := r.others(begin, used{tt.client, tt.server, begin.at.Add(s)}); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
