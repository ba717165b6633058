package bench

import (
	"context"
	"runtime"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/host"
)

// used is what both processes have used up to a moment.
type used struct {
	client, server host.Usage
	at             time.Time
}

// used reads it, before something that should take d.
func (r *runner) used(ctx context.Context, d time.Duration) (u used, err error) {
	ctx, done := r.watched(ctx, d)
	defer done()
	if u.server, err = r.control.Usage(ctx); err != nil {
		return u, r.lost(ctx, err)
	}
	u.client, u.at = r.meter.UsedBusy(), time.Now()
	return u, nil
}

// others returns Round.Others for the time between two moments.
//
// If client and server share the CPUs of this host, neither counts as another process to the other.
func (r *runner) others(begin, end used) float64 {
	client, server := end.client.Since(begin.client), end.server.Since(begin.server)
	ours := [2]time.Duration{client.CPU, server.CPU}
	apart := len(r.o.ServerCPUs) > 0 && len(r.o.ClientCPUs) > 0
	if !apart && r.sameHost {
		ours[0] += server.CPU
		ours[1] += client.CPU
	}
	elapsed := end.at.Sub(begin.at)
	share := func(busy, ours time.Duration, cpus int) float64 {
		return min(max(0, float64(busy-ours)/float64(elapsed)/float64(max(1, cpus))), 1)
	}
	return max(
		share(client.Busy, ours[0], r.clientCPUs()),
		share(server.Busy, ours[1], int(r.info.CPUs)))
}

// clientCPUs returns how many CPUs this process may use.
func (r *runner) clientCPUs() int {
	if n := len(r.o.ClientCPUs); n > 0 {
		return n
	}
	return runtime.NumCPU()
}
