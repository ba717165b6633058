package fair

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rpcrdma/go-rpcrdma/internal/peerhost"
)

// crowd simulates a crowded process in virtual time: ready goroutines wait for a processor unless
// some host is delayed.
type crowd struct {
	*Processors
	full bool
	all  sync.WaitGroup // connections
}

func newCrowd(full bool) *crowd {
	c := &crowd{full: full}
	c.Processors = NewProcessors(func() time.Duration {
		if c.crowded() {
			return 2 * crowded
		}
		return 0
	})
	return c
}

func (c *crowd) crowded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.full && c.held == nil
}

// pattern is the time between two reads of a host, while the process is crowded and otherwise.
// With each read comes work that costs as much as some more. Its connection may end with the read.
type pattern struct {
	crowded, alone time.Duration
	more           int
	once           bool
}

// reads makes a connection of a host read until the end of the test, and returns the number of
// reads.
func (c *crowd) reads(i int, p pattern, end <-chan struct{}) *atomic.Int64 {
	n := new(atomic.Int64)
	r := c.Join(host(i))
	c.all.Go(func() {
		defer r.Leave()
		for {
			select {
			case <-end:
				return
			case <-time.After(p.alone):
			}
			for waited := p.alone; waited < p.crowded && c.crowded(); waited += p.alone {
				time.Sleep(p.alone)
			}
			r.Await()
			r.Charge(p.more)
			n.Add(1)
			if p.once {
				r.Leave()
				r = c.Join(host(i))
			}
		}
	})
	return n
}

// TestProcessors lets hosts read for a second of virtual time.
func TestProcessors(t *testing.T) {
	var (
		greedy  = pattern{10 * time.Microsecond, 10 * time.Microsecond, 0, false}
		starved = pattern{10 * time.Millisecond, 100 * time.Microsecond, 0, false}
		modest  = pattern{time.Millisecond, time.Millisecond, 0, false}
		seldom  = pattern{20 * time.Millisecond, 20 * time.Millisecond, 0, false}
		costly  = pattern{10 * time.Millisecond, 10 * time.Millisecond, 999, false}
		once    = pattern{10 * time.Microsecond, 10 * time.Microsecond, 0, true}
	)
	for _, tt := range []struct {
		name        string
		full        bool
		hosts       []pattern
		least, most []int64 // percentage of the reads that each host would make alone
	}{
		{"a host alone", true, []pattern{greedy}, []int64{99}, []int64{100}},
		{"nobody waits", false, []pattern{greedy, starved}, []int64{99, 99}, []int64{100, 100}},
		{"starved", true, []pattern{greedy, starved}, []int64{40, 45}, []int64{60, 60}},
		{"starved by costly reads", true, []pattern{costly, starved}, []int64{50, 45},
			[]int64{70, 60}},
		{"starved by connections that come and go", true, []pattern{once, starved},
			[]int64{40, 45}, []int64{60, 60}},
		{"starved by two", true, []pattern{greedy, greedy, starved}, []int64{60, 60, 30},
			[]int64{70, 70, 40}},
		{"equal", true, []pattern{greedy, greedy, greedy}, []int64{99, 99, 99},
			[]int64{100, 100, 100}},
		{"not starved", true, []pattern{greedy, modest}, []int64{95, 95}, []int64{100, 100}},
		{"with little to say", true, []pattern{greedy, seldom}, []int64{90, 90}, []int64{100, 100}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCrowd(tt.full)
				end := make(chan struct{})
				var reads []*atomic.Int64
				for i, p := range tt.hosts {
					reads = append(reads, c.reads(i, p, end))
				}
				time.Sleep(time.Second)
				close(end)
				c.all.Wait()
				time.Sleep(3 * longest) // a delay may be under way
				for i, n := range reads {
					share := 100 * n.Load() * int64(tt.hosts[i].alone) / int64(time.Second)
					if share < tt.least[i] || share > tt.most[i] {
						t.Errorf("host %d has %d %% of its reads, want %d to %d", i, share,
							tt.least[i], tt.most[i])
					}
				}
				c.mu.Lock()
				defer c.mu.Unlock()
				if n := len(c.hosts); n != c.gone || n != int(c.known.Load()) {
					t.Errorf("%d hosts are known at the end, and %d of them gone", n, c.gone)
				}
			})
		})
	}
}

// TestGone: hosts without connections are remembered, but few.
func TestGone(t *testing.T) {
	p := NewProcessors(func() time.Duration { return 0 })
	for i := range 1000 {
		r := p.Join(peerhost.Of(&net.TCPAddr{IP: net.IPv4(10, 0, byte(i>>8), byte(i))}))
		r.Leave()
	}
	if n := len(p.hosts); n == 0 || n > mostGone || n != int(p.known.Load()) {
		t.Errorf("%d hosts are remembered", n)
	}
}
