package rpcrdma_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp"
)

// withholders has clients of n hosts, two of each, ask for a reply. They are to send no RDMA_DONE.
func (r *hostsRig) withholders(n int) {
	var all []*rawPeer
	for i := range 2 * n {
		r.from(1 + i/2)
		p := r.raw(inline4k)
		p.alive() // its reply brings many credits
		all = append(all, p)
	}
	for _, p := range all {
		p.ask(1)
	}
	synctest.Wait()
	r.from(100)
}

// atOnce checks that no time passes in f.
func atOnce(t *testing.T, f func()) {
	t.Helper()
	began := time.Now()
	f()
	if waited := time.Since(began); waited > 0 {
		t.Errorf("waited %v", waited)
	}
}

// TestManyWithhold: clients of many hosts fill the server's memory with replies whose RDMA_DONEs
// they withhold. The calls of one more host go on at once (draft section 11). The hosts with the
// most lose a reply each. A host with less, whose RDMA_DONE is only late, loses nothing.
func TestManyWithhold(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		cfg := smallShare
		cfg.PeerTimeout = time.Hour
		r := newHostsRig(t, cfg, iwarp.Config{})
		late := r.replyReader(inline4k)
		late.source(9, 1, 5001)
		r.withholders(6)
		good := r.dial(rpcrdma.Config{Dialect: rpcrdma.Draft})
		atOnce(t, func() {
			for range 5 {
				args := &items{data: [][]byte{pattern(1, third)}}
				req := &oncrpc.Request{Procedure: procSink, Args: args, MaxReply: 100}
				if err := client(good).Do(t.Context(), req); err != nil {
					t.Fatal(err)
				}
			}
		})
		if n := r.cfg.Counters.Totals().DonesMissed; n != 1 {
			t.Errorf("%d replies were taken back, want 1", n)
		}
		quarters(2)
		late.done(9)
		late.alive()
		if s := late.conn.Stats(); s.DonesReceived != 1 || s.DonesMissed != 0 {
			t.Errorf("%+v, want the RDMA_DONE to have come in time", s)
		}
	})
}

// TestMessagesBehindWithheld: likewise, where the messages of such calls fill the memory. A client
// has been granted many credits before, and makes as many calls.
func TestMessagesBehindWithheld(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		const credits = 8
		r := newHostsRig(t, rpcrdma.Config{
			Dialect: rpcrdma.Draft, Credits: credits, ReceiveMemory: 50 * 4096,
			PeerTimeout: time.Hour,
		}, iwarp.Config{})
		good := r.dial(rpcrdma.Config{Dialect: rpcrdma.Draft})
		together(t, good, credits)
		r.withholders(12)
		atOnce(t, func() { together(t, good, credits) })
	})
}

// TestRecalledEnd: replies are recalled while their RDMA_DONEs come, and while their connections
// end. Nothing stays behind, and nothing of connections that have ended is recalled for ever.
func TestRecalledEnd(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	inBubble(t, func(t *testing.T) {
		cfg := smallShare
		cfg.PeerTimeout, cfg.ReceiveMemory = time.Hour, 60*4096
		r := newHostsRig(t, cfg, iwarp.Config{})
		var peers []*rawPeer
		for i := range 16 {
			r.from(1 + i/2)
			p := r.raw(inline4k)
			p.alive() // its reply brings many credits
			peers = append(peers, p)
		}
		var others sync.WaitGroup
		for i := range 2 {
			r.from(100 + i)
			good := client(r.dial(rpcrdma.Config{Dialect: rpcrdma.Draft}))
			for range 2 {
				others.Go(func() {
					for range 40 {
						args := &items{data: [][]byte{pattern(1, third)}}
						req := &oncrpc.Request{Procedure: procSink, Args: args, MaxReply: 100}
						if err := good.Do(t.Context(), req); err != nil {
							t.Error(err)
						}
					}
				})
			}
		}
		for i, p := range peers {
			others.Go(func() { p.doneAtRandom(rand.New(rand.NewPCG(seed, uint64(i)))) })
		}
		others.Wait()
		synctest.Wait() // does not return while something is recalled
		if n := r.cfg.Counters.Totals(); n.DonesMissed == 0 || n.DonesReceived == 0 {
			t.Errorf("%d replies are taken back, and %d RDMA_DONEs come", n.DonesMissed, n.DonesReceived)
		}
		for _, p := range peers {
			p.ep.Close()
			<-p.ep.Done()
		}
		synctest.Wait()
		if n := r.cfg.Counters.Totals().Memory; n != 0 {
			t.Errorf("%d bytes are reserved afterwards", n)
		}
	})
}

// doneAtRandom makes up to three calls at a time, and sends their RDMA_DONEs, read or not. Some
// time it may close the connection.
func (p *rawPeer) doneAtRandom(rng *rand.Rand) {
	var asked, done uint32
	for range 30 {
		switch n := rng.IntN(40); {
		case n < 20 && asked < done+3:
			asked++
			call := callBytes(asked, procSource, &source{1, third})
			p.post(slices.Concat(header(asked, rpcrdma.TypeMsg).Append(nil), call))
		case n < 39 && done < asked:
			done++
			p.post(header(done, rpcrdma.TypeDone).Append(nil))
		case n == 39:
			p.ep.Close()
			return
		}
		time.Sleep(time.Duration(rng.IntN(3)))
	}
}
