package credits

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"
)

// step is one of a sequence of calls, replies, DONEs and cancellations.
type step struct {
	kind  string
	grant uint32 // of a reply
	place int    // of the call, or of a caller who gives up in the queue
}

// The window against a model.
func TestWindowModel(t *testing.T) {
	steps := rapid.SliceOf(rapid.Custom(func(t *rapid.T) step {
		return step{
			kind: rapid.SampledFrom([]string{
				"call", "call", "call", "reply", "reply with a read list", "DONE", "credit not used", "caller gives up",
			}).Draw(t, "kind"),
			grant: rapid.Uint32Range(0, 8).Draw(t, "grant"),
			place: rapid.IntRange(0, 10).Draw(t, "place"),
		}
	}))
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 6).Draw(rt, "max")
		steps := steps.Draw(rt, "steps")
		if err := bubble(t, func() error { return runModel(most, steps) }); err != nil {
			rt.Fatal(err)
		}
	})
}

func runModel(most int, steps []step) error {
	w := NewWindow(most)
	limit, begun := 1, 0
	var dones []int // begun, when each was sent
	var queue, sent, fetching, all []*caller
	number := map[*caller]int{}
	defer func() {
		for _, c := range all {
			c.cancel()
		}
	}()
	take := func(list *[]*caller, i int) *caller {
		c := (*list)[i]
		*list = slices.Delete(*list, i, i+1)
		return c
	}
	for i, s := range steps {
		list := &sent
		switch s.kind {
		case "DONE":
			list = &fetching
		case "caller gives up":
			list = &queue
		}
		if s.kind != "call" && s.place >= len(*list) {
			continue
		}
		switch s.kind {
		case "call":
			c := call(w, len(all))
			all = append(all, c)
			queue = append(queue, c)
		case "reply", "reply with a read list":
			c := take(list, s.place)
			if s.kind == "reply" {
				w.Release(c.credit, s.grant)
			} else {
				w.NoteGrant(c.credit, s.grant)
				fetching = append(fetching, c)
			}
			limit = min(int(s.grant), most)
			dones = slices.DeleteFunc(dones, func(begun int) bool { return begun < number[c] })
		case "DONE":
			take(list, s.place)
			w.DoneSent()
			dones = append(dones, begun)
		case "credit not used":
			take(list, s.place)
			w.ReleaseUnsent()
		case "caller gives up":
			c := take(list, s.place)
			c.cancel()
			synctest.Wait()
			if !c.done || !errors.Is(c.err, context.Canceled) {
				return fmt.Errorf("step %d: caller %d gave up: returned %v, error %v", i, c.id, c.done, c.err)
			}
		}
		synctest.Wait()
		for len(queue) > 0 {
			inflight := len(sent) + len(fetching)
			if inflight > 0 && inflight+len(dones) >= limit {
				break
			}
			begun++
			number[queue[0]] = begun
			sent = append(sent, take(&queue, 0))
			if c := sent[len(sent)-1]; c.credit.InUse != inflight+1+len(dones) {
				return fmt.Errorf("step %d, %s: caller %d: %d credits in use, want %d", i, s.kind, c.id, c.credit.InUse, inflight+1+len(dones))
			}
		}
		l, n, d, q := w.State()
		if got, want := fmt.Sprint(l, n, d, q), fmt.Sprint(limit, len(sent)+len(fetching), len(dones), len(queue)); got != want {
			return fmt.Errorf("step %d, %s: State() = %s, want %s", i, s.kind, got, want)
		}
		for _, c := range all {
			if c.done == slices.Contains(queue, c) {
				return fmt.Errorf("step %d, %s: caller %d: returned %v, error %v", i, s.kind, c.id, c.done, c.err)
			}
		}
	}
	w.Close(errGone)
	synctest.Wait()
	for _, c := range all {
		if !c.done {
			return fmt.Errorf("caller %d waits after the end", c.id)
		}
	}
	return nil
}
