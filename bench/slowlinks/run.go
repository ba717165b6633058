package slowlinks

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/bench/program"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
)

// What is under way beside one NULL: nearly as much as the default of 64 credits allows.
const (
	bulkCalls = 60
	bulkSize  = 1 << 20
)

// Result is what was measured of a Cell.
type Result struct {
	Used   float64       // share of the bandwidth, after the start
	Null   time.Duration // the longest NULL, without the stall
	Median time.Duration // median of the NULLs, likewise
	Nulls  int
	Lost   error // why the connection was lost; nil if it was not
}

// Ahead returns how many bytes the link passes while the longest NULL waits beyond one round trip.
func (r *Result) Ahead(c Cell) int {
	return int((r.Null - c.RoundTrip).Seconds() * float64(c.bandwidth()))
}

// Run measures a cell for length in virtual time. Call it in a bubble of testing/synctest.
func Run(ctx context.Context, c Cell, length time.Duration) (*Result, error) {
	r, err := inMemory(ctx, c)
	if err != nil {
		return nil, err
	}
	res := r.measure(ctx, c, length)
	r.close()
	time.Sleep(time.Hour) // iWARP waits a while for its peer to close
	return res, nil
}

// measure has calls under way for a while.
func (r *rig) measure(ctx context.Context, c Cell, length time.Duration) *Result {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for range bulkCalls {
		group.Go(func() { r.bulk(ctx, c.Transfer) })
	}
	nulls := r.nulls(ctx, &group)
	time.Sleep(start(c))

	began := time.Now()
	before, _ := r.link.Bytes(c.Transfer.way())
	time.Sleep(length / 2)
	stalled := time.Now()
	if c.Stall > 0 {
		r.link.Freeze(faultnet.Up, faultnet.Down)
		time.Sleep(c.Stall)
		r.link.Thaw(faultnet.Up, faultnet.Down)
	}
	time.Sleep(length - length/2)
	after, _ := r.link.Bytes(c.Transfer.way())

	res := &Result{Lost: r.conn.Err()}
	res.Used = float64(after-before) / (float64(c.bandwidth()) * length.Seconds())
	cancel()
	group.Wait()
	var all []time.Duration
	for _, n := range *nulls {
		if n.began.Before(began) {
			continue
		}
		all = append(all, n.without(stalled, c.Stall))
	}
	if slices.Sort(all); len(all) > 0 {
		res.Nulls, res.Median, res.Null = len(all), all[len(all)/2], all[len(all)-1]
	}
	return res
}

// start returns when measuring begins: after the first few replies.
func start(c Cell) time.Duration {
	four := time.Duration(4 * bulkSize * float64(time.Second) / float64(c.bandwidth()))
	return four + 20*c.RoundTrip
}

// bulk makes one call of bulk data after the other.
func (r *rig) bulk(ctx context.Context, t Transfer) {
	data := make([]byte, bulkSize)
	call := program.NewTakeCaller(r.conn, data)
	if t == Read {
		call = program.NewGiveCaller(r.conn, data, true)
	}
	for call.Call(ctx) == nil {
	}
}

// null is one NULL call, and how long it took.
type null struct {
	began time.Time
	took  time.Duration
}

// without returns how long n took, without what it shares with a while that begins at a time.
func (n null) without(at time.Time, while time.Duration) time.Duration {
	shared := n.took - max(0, at.Sub(n.began))
	if begun := n.began.Sub(at); begun > 0 {
		while -= begun
	}
	return n.took - max(0, min(shared, while))
}

// nulls makes one NULL after the other, with a pause between them. One that is given up counts with
// the time until then.
func (r *rig) nulls(ctx context.Context, group *sync.WaitGroup) *[]null {
	all := new([]null)
	client := oncrpc.NewClient(r.conn, program.Number, program.Version, oncrpc.AuthNone())
	group.Go(func() {
		for ctx.Err() == nil {
			n := null{began: time.Now()}
			_ = client.Do(ctx, &oncrpc.Request{Procedure: program.Null})
			n.took = time.Since(n.began)
			*all = append(*all, n)
			time.Sleep(10 * time.Millisecond)
		}
	})
	return all
}
