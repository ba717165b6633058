package rpcrdma_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/faultnet"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// hostsRig is a rig over iWARP in a network in memory, whose clients come from several hosts. It is
// for bubbles.
type hostsRig struct {
	*rig
	network *faultnet.Memory
	wire    iwarp.Config
	greedy  []*rpcrdma.Conn // server ends of stalled connections
}

func newHostsRig(t testing.TB, cfg rpcrdma.Config, wire iwarp.Config) *hostsRig {
	t.Helper()
	wire.Logger = quiet
	r := &hostsRig{network: faultnet.NewMemory(faultnet.Config{}), wire: wire}
	l, err := r.network.Listen("10.0.0.1:20049")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := iwarp.NewListener(l, wire)
	if err != nil {
		t.Fatal(err)
	}
	r.rig = serveRig(t, cfg, listener, nil, sameEndpoint)
	r.from(0)
	return r
}

// from has the clients that are made from now on be of a host.
func (r *hostsRig) from(host int) {
	address := fmt.Sprintf("10.0.1.%d", host)
	r.dialer = iwarp.Dialer{Config: r.wire, DialContext: r.network.Dialer(address)}
}

// occupy makes conns connections from each of n hosts. On each one a client makes a call whose
// message must be fetched, and never answers the RDMA Read for it.
func (r *hostsRig) occupy(n, conns int) {
	r.t.Helper()
	before := len(r.network.Links())
	var peers []*rawPeer
	for i := range n * conns {
		r.from(i % n)
		p := r.raw(inline4k)
		p.alive() // its reply brings many credits
		peers = append(peers, p)
		r.greedy = append(r.greedy, wait(r.t, r.program.conns))
	}
	for _, l := range r.network.Links()[before:] {
		l.Freeze(faultnet.Down) // data from the server
	}
	for _, p := range peers {
		h := header(1, rpcrdma.TypeNoMsg)
		h.Reads = []chunks.ReadSegment{{Segment: chunks.Segment{Handle: 1, Length: 60_000}}}
		h.SetReply([]chunks.Segment{{Handle: 1, Length: rpcrdma.MaxInline}})
		p.send(h)
	}
	synctest.Wait()
}

// count adds up a counter of the greedy connections.
func (r *hostsRig) count(of func(rpcrdma.Stats) uint64) (n uint64) {
	for _, c := range r.greedy {
		n += of(c.Stats())
	}
	return n
}

// stand checks that the greedy connections have stood still, and lets them go on, to their end.
func (r *hostsRig) stand() {
	r.t.Helper()
	defer func() {
		for _, l := range r.network.Links() {
			l.Thaw(faultnet.Down)
		}
	}()
	for i, c := range r.greedy {
		if err := c.Err(); err != nil {
			r.t.Fatalf("greedy connection %d has ended, and made room by that: %v", i, err)
		}
	}
}

// besideGreedy runs a test beside n hosts that take all that they can.
func besideGreedy(t *testing.T, test func(t *testing.T, n int)) {
	for _, n := range []int{1, 3} {
		t.Run(fmt.Sprintf("%d greedy", n), func(t *testing.T) {
			inBubble(t, func(t *testing.T) { test(t, n) })
		})
	}
}

// TestShareOfMemory: hosts take all the memory for chunks that they can get, with many connections,
// each with a call whose arguments never arrive. Meanwhile calls of another host are answered, as
// many at a time as fit in the share left for it.
func TestShareOfMemory(t *testing.T) {
	besideGreedy(t, func(t *testing.T, n int) {
		const conns, callers, calls, size = 20, 3, 10, 60_000
		r := newHostsRig(t, rpcrdma.Config{
			MaxMessage: rpcrdma.MaxInline, ConnMemory: 4 * rpcrdma.MaxInline,
			ServerMemory: 16 * rpcrdma.MaxInline, PeerTimeout: time.Hour,
		}, iwarp.Config{})
		r.occupy(n, conns)
		defer r.stand()
		if r.count(func(s rpcrdma.Stats) uint64 { return s.Waited }) == 0 {
			t.Fatal("the calls of the greedy hosts all fit")
		}
		start := time.Now()
		r.from(n)
		good := r.dial(rpcrdma.Config{})
		data := pattern(1, size)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				for range calls {
					args := &items{data: [][]byte{data}}
					err := client(good).Call(t.Context(), procSink, args, nil)
					if err != nil {
						t.Error(err)
					}
					if err := fetchItem(t.Context(), good, size, nil); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); d > time.Minute {
			t.Errorf("the calls of another host took %v", d)
		}
	})
}

// TestShareOfReceives: hosts take all the memory for receives that they can get. Each of many
// connections has been granted many credits and has one call under way that does not end. Another
// host has been granted as many before. Its calls are answered meanwhile, as many at a time.
func TestShareOfReceives(t *testing.T) {
	besideGreedy(t, func(t *testing.T, n int) {
		const conns, credits, rounds = 40, 8, 10
		r := newHostsRig(t, rpcrdma.Config{
			Credits: credits, ReceiveMemory: 200 * 4096, PeerTimeout: time.Hour,
		}, iwarp.Config{})
		r.from(n)
		good := r.dial(rpcrdma.Config{})
		together(t, good, credits)
		for range credits + 1 {
			wait(t, r.program.conns)
		}
		r.occupy(n, conns)
		defer r.stand()
		if r.count(func(s rpcrdma.Stats) uint64 { return s.HeldUp }) == 0 {
			t.Fatal("the receives of the greedy hosts all fit")
		}
		start := time.Now()
		for range rounds {
			together(t, good, credits)
		}
		if grant, _, _ := good.Credits(); grant < credits {
			t.Errorf("%d credits are granted to a host whose share is free", grant)
		}
		if d := time.Since(start); d > time.Minute {
			t.Errorf("the calls of another host took %v", d)
		}
	})
}
