package stag

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestPinsUnderWay: senders pin, send and unpin while windows are made, are invalidated by the
// peer, and end in every way, twice at a time. The memory of a window is overwritten as soon as the
// window has ended. The race detector and the bytes show whether a sender still reads it. At the
// end, nothing is pinned.
func TestPinsUnderWay(t *testing.T) {
	const (
		senders = 3
		owners  = 3
		rounds  = 300
	)
	h := newHolder(10 * owners) // a window counts until the goroutine that ended it is done
	var tags [owners]atomic.Pointer[transport.Region]
	stop := make(chan struct{})

	var sending, owning sync.WaitGroup
	for range senders {
		sending.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				r := tags[rand.IntN(owners)].Load()
				if r == nil {
					continue
				}
				switch rand.IntN(8) {
				case 0:
					h.tab.Invalidate(r.STag)
				case 1:
					for _, b := range h.send() {
						if b != 'm' {
							t.Errorf("sent %q, which is what the memory held later", b)
							return
						}
					}
				default:
					err := h.pin(r.STag, r.Base+uint64(rand.IntN(50)), uint64(rand.IntN(50)))
					// A sender that did not run for 256 windows finds the tag of another one.
					if err != nil && !errors.Is(err, transport.ErrSTag) &&
						!errors.Is(err, transport.ErrBounds) {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	for i := range owners {
		owning.Go(func() {
			mem := make([]byte, 100)
			for range rounds {
				for j := range mem {
					mem[j] = 'm'
				}
				r, err := h.tab.Expose(listOf(mem[:30], mem[30:]), read|invalidate)
				if err != nil {
					t.Error(err)
					return
				}
				tags[i].Store(&r)
				var ends sync.WaitGroup
				if rand.IntN(2) == 0 {
					ends.Go(func() { h.tab.Abandon(r) })
				}
				for _, first := range []bool{false, true} {
					end := func() { h.tab.Revoke(r) }
					switch rand.IntN(4) {
					case 0:
						end = func() { h.tab.End(r.STag) }
					case 1:
						end = func() { h.end(r.STag) }
					case 2:
						if first {
							end = func() { h.tab.Abandon(r) }
						}
					}
					if first {
						end()
					} else {
						ends.Go(end)
					}
				}
				for j := range mem {
					mem[j] = '!'
				}
				ends.Wait()
				h.tab.Revoke(r)
			}
		})
	}
	owning.Wait()
	close(stop)
	sending.Wait()
	h.send()
	for _, e := range h.tab.entries {
		if e.pins != 0 || e.tag != 0 || e.ending {
			t.Errorf("entry %#x: %d pins, tag %#x, ending %t, want nothing", e.index, e.pins, e.tag, e.ending)
		}
	}
	if got := h.tab.Live(); got != 0 {
		t.Errorf("%d tags alive, want none", got)
	}
}

// TestCloseUnderWay runs Close together with everything else.
func TestCloseUnderWay(t *testing.T) {
	for range 100 {
		h := newHolder(4)
		mem := make([]byte, 100)
		var regions [4]transport.Region
		for i := range regions {
			regions[i] = expose(t, h.tab, read|invalidate, mem[25*i:25*i+25])
			h.pin(regions[i].STag, regions[i].Base, 25)
		}
		var others sync.WaitGroup
		others.Go(func() { h.tab.Revoke(regions[0]); clear(mem[:25]) })
		others.Go(func() { h.tab.Abandon(regions[1]); clear(mem[25:50]) })
		others.Go(func() { h.tab.Invalidate(regions[2].STag) })
		others.Go(func() { h.pin(regions[3].STag, regions[3].Base, 3); h.send() })
		h.tab.Close()
		clear(mem[75:])
		others.Wait()
		h.send()
		if got := h.tab.Live(); got != 0 {
			t.Fatalf("%d tags alive, want none", got)
		}
	}
}
