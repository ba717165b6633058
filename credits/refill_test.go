package credits

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// refillPeer is a peer that posts receives only when it handles a reply: as many as it may get
// replies, and later more. Its provider takes messages when they are sent; it handles them in
// order, and as late as it likes.
type refillPeer struct {
	w            *Window
	first, later int
	replies      int // calls that it may have under way when it has had a reply
	grant        uint32
	posted       int
	window       int      // calls that it may have under way
	underWay     int      // its calls
	unanswered   int      // those without a reply
	acquired     []Credit // of calls that have not been sent
	wire         []*Credit
	handled      []Credit // of calls that have not been answered
	begun        int      // calls
}

func newRefillPeer(first, later, replies int, grant uint32) *refillPeer {
	p := &refillPeer{w: NewWindow(64), first: first, later: later, replies: replies, grant: grant,
		posted: 1 + first, window: 1}
	p.w.LimitToRefills(first, later)
	return p
}

// take takes a receive for a message.
func (p *refillPeer) take(c *Credit) error {
	if p.posted == 0 {
		return fmt.Errorf("no receive; is it a call: %v", c != nil)
	}
	p.posted--
	p.wire = append(p.wire, c)
	return nil
}

func pick[T any](list *[]T, i int) (x T, ok bool) {
	if len(*list) == 0 {
		return x, false
	}
	i %= len(*list)
	x = (*list)[i]
	*list = slices.Delete(*list, i, i+1)
	return x, true
}

func (p *refillPeer) step(kind string, i int) error {
	switch kind {
	case "begin":
		for range 1 + i {
			if c, err := p.w.Acquire(noWait); err == nil {
				p.acquired = append(p.acquired, c)
				p.begun++
			}
		}
	case "send":
		if c, ok := pick(&p.acquired, i); ok {
			p.w.Sent(&c)
			return p.take(&c)
		}
	case "not sent":
		if _, ok := pick(&p.acquired, i); ok {
			p.w.ReleaseUnsent()
			p.begun--
		}
	case "call":
		if p.underWay < p.window {
			p.underWay++
			p.unanswered++
		}
	case "reply":
		if p.unanswered > 0 {
			p.unanswered--
			p.w.ReplySent()
			return p.take(nil)
		}
	case "handle":
		if c, ok := pick(&p.wire, 0); ok && c != nil {
			p.handled = append(p.handled, *c)
		} else if ok {
			p.underWay--
			p.window = p.replies
			p.posted = max(p.posted, p.replies+p.later)
		}
	case "answer":
		if c, ok := pick(&p.handled, i); ok && i%5 == 0 {
			p.w.ReleaseOverridden(c)
		} else if ok {
			p.w.Release(c, p.grant)
		}
	}
	return nil
}

// settle sends, handles and answers all that there is.
func (p *refillPeer) settle() error {
	for len(p.acquired)+len(p.wire)+len(p.handled) > 0 {
		for _, kind := range []string{"send", "handle", "answer"} {
			if err := p.step(kind, 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// TestRefills: whatever crosses, a message finds a receive. When all has come to rest, one reply
// lets all calls but one go for which the peer then has receives.
func TestRefills(t *testing.T) {
	kinds := rapid.SampledFrom([]string{"begin", "begin", "begin", "send", "send", "send", "send",
		"send", "not sent", "call", "call", "reply", "reply", "handle", "handle", "answer", "answer"})
	rapid.Check(t, func(rt *rapid.T) {
		first := rapid.IntRange(2, 7).Draw(rt, "first")
		later := rapid.IntRange(first, 9).Draw(rt, "later")
		p := newRefillPeer(first, later, rapid.IntRange(1, 3).Draw(rt, "replies"),
			rapid.SampledFrom([]uint32{1, 3, 16, 64}).Draw(rt, "grant"))
		steps := rapid.SampledFrom([]int{20, 100, 400}).Draw(rt, "number of steps")
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 9), steps, steps).Draw(rt, "steps") {
			if err := p.step(kinds.Draw(rt, "kind"), n); err != nil {
				rt.Fatal(err)
			}
		}
		if err := p.settle(); err != nil {
			rt.Fatal(err)
		}
		for range 2 {
			for _, kind := range []string{"call", "reply", "handle"} {
				if err := p.step(kind, 0); err != nil {
					rt.Fatal(err)
				}
			}
			begun := p.begun
			for range 2 * later {
				if err := p.step("begin", 0); err != nil {
					rt.Fatal(err)
				}
				if err := p.settle(); err != nil {
					rt.Fatal(err)
				}
			}
			begun = p.begun - begun
			if begun != later-1 {
				rt.Fatalf("a reply let %d calls go, want %d", begun, later-1)
			}
		}
	})
}

// TestRefillWakes: a reply wakes one call that waits, and the answer to that wakes the others. What
// is not sent, and who stops waiting, takes no receive.
func TestRefillWakes(t *testing.T) {
	err := bubble(t, func() error {
		w := NewWindow(64)
		defer w.Close(errGone)
		w.LimitToRefills(3, 5)
		a, b := acquire(t, w), call(w, 1)
		w.Sent(&a)
		w.Release(a, 64)
		synctest.Wait()
		wantCredit(t, b)
		last := []*caller{call(w, 2), call(w, 3), call(w, 4), call(w, 5), call(w, 6)}
		wantWaiting(t, last[0])
		w.ReleaseUnsent() // b was not sent
		synctest.Wait()
		wantCredit(t, last[0])
		w.Sent(&last[0].credit)
		w.Release(last[0].credit, 64)
		last[1].cancel()
		synctest.Wait()
		wantWaiting(t, last[2])
		w.ReplySent()
		synctest.Wait()
		wantCredit(t, last[2])
		wantWaiting(t, last[3])
		w.Sent(&last[2].credit)
		w.ReplySent()
		synctest.Wait()
		wantWaiting(t, last[3]) // nothing shows yet that the peer has handled a reply
		w.Release(last[2].credit, 64)
		synctest.Wait()
		wantCredit(t, last[3])
		wantCredit(t, last[4])
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
