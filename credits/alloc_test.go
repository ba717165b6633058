package credits

import (
	"context"
	"runtime"
	"testing"
)

// exchanges are the steps of a client for one call.
var exchanges = []struct {
	name string
	do   func(w *Window)
}{
	{"reply", func(w *Window) {
		c, _ := w.Acquire(noWait)
		w.Release(c, 8)
	}},
	{"reply with a read list", func(w *Window) {
		c, _ := w.Acquire(noWait)
		w.NoteGrant(c, 8)
		w.DoneSent()
	}},
	{"several of both under way", func(w *Window) {
		var all [8]Credit
		for i := range all {
			all[i], _ = w.Acquire(noWait)
		}
		for i, c := range all {
			if i%4 == 3 {
				w.Release(c, 8)
			} else {
				w.NoteGrant(c, 8)
			}
		}
		for i := range all {
			if i%4 != 3 {
				w.DoneSent()
			}
		}
		// Makes room for as many again.
		c, _ := w.Acquire(noWait)
		w.Release(c, 8)
	}},
}

func newWide() *Window {
	w := NewWindow(8)
	c, _ := w.Acquire(noWait)
	w.Release(c, 8)
	return w
}

func TestWindowAllocates(t *testing.T) {
	for _, x := range exchanges {
		t.Run(x.name, func(t *testing.T) {
			w := newWide()
			x.do(w)
			if n := testing.AllocsPerRun(100, func() { x.do(w) }); n > 0 {
				t.Errorf("%v allocations", n)
			}
			if _, inflight, dones, _ := w.State(); inflight != 0 || dones > 1 || cap(w.dones) > 8 {
				t.Errorf("%d calls and %d DONEs under way in the end, memory for %d", inflight, dones, cap(w.dones))
			}
		})
	}
}

func TestWindowAllocatesWaiting(t *testing.T) {
	w := NewWindow(1)
	ctx := context.Background()
	begin, done := make(chan struct{}), make(chan struct{})
	go func() {
		for range begin {
			c, _ := w.Acquire(ctx)
			w.Release(c, 1)
			done <- struct{}{}
		}
	}()
	defer close(begin)
	if n := testing.AllocsPerRun(100, func() {
		c, _ := w.Acquire(ctx)
		begin <- struct{}{}
		for waiting := 0; waiting == 0; _, _, _, waiting = w.State() {
			select {
			case <-done:
				t.Fatal("it did not wait")
			default:
				runtime.Gosched()
			}
		}
		w.Release(c, 1)
		<-done
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWindow(b *testing.B) {
	for _, x := range exchanges {
		b.Run(x.name, func(b *testing.B) {
			w := newWide()
			b.ReportAllocs()
			for b.Loop() {
				x.do(w)
			}
		})
	}
}
