package stag

import (
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// TestRevokeDuringClose checks that Revoke and Abandon wait for a copy under way while the table
// closes, too.
func TestRevokeDuringClose(t *testing.T) {
	ops := map[string]func(*Table, transport.Region){
		"revoke":  func(tb *Table, r transport.Region) { tb.Revoke(r) },
		"abandon": func(tb *Table, r transport.Region) { tb.Abandon(r) },
	}
	for name, op := range ops {
		t.Run(name, func(t *testing.T) {
			tb := New(10, nil)
			mem := make([]byte, 100)
			r, err := tb.Expose([]transport.Slice{{Bytes: mem}}, transport.RemoteWrite)
			if err != nil {
				t.Fatal(err)
			}
			e, err := tb.acquire(r.STag) // a copy is under way
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			wg.Go(tb.Close)
			for closed := false; !closed; {
				tb.mu.Lock()
				closed = tb.closed
				tb.mu.Unlock()
			}
			wg.Go(func() {
				op(tb, r)
				clear(mem) // too early, this is a race that the detector finds
			})
			mem[0] = 1
			e.mu.Unlock()
			wg.Wait()
		})
	}
}

// TestExposeDuringClose checks that no window begins after Close has looked at all entries, because
// nothing would wait for copies to it.
func TestExposeDuringClose(t *testing.T) {
	tb := New(1, nil)
	tb.mu.Lock()
	e := tb.take() // as Expose does, then gets descheduled
	tb.mu.Unlock()
	tb.Close()
	r, err := e.open(listOf(make([]byte, 1)), transport.RemoteWrite, 0)
	wantErr(t, err, net.ErrClosed)
	if r != (transport.Region{}) || e.tag != 0 {
		t.Errorf("got window %+v, want none", r)
	}
}

// TestCloseAwaitsDetach: Close waits until the provider has finished the detach hook, even if the
// hook began earlier and the pins have gone meanwhile. After Close, the provider frees what the
// hook reads.
func TestCloseAwaitsDetach(t *testing.T) {
	for _, tt := range []struct {
		name string
		ops  []func(tb *Table, r transport.Region, detach func(transport.STag))
	}{
		{"abandon", []func(*Table, transport.Region, func(transport.STag)){abandonOne}},
		{"abandon twice", []func(*Table, transport.Region, func(transport.STag)){
			abandonOne, abandonOne,
		}},
		{"revoke", []func(*Table, transport.Region, func(transport.STag)){revokeOne}},
		{"end", []func(*Table, transport.Region, func(transport.STag)){endOne}},
		{"abandon, then revoke", []func(*Table, transport.Region, func(transport.STag)){
			abandonOne, revokeOne,
		}},
		{"revoke, then end", []func(*Table, transport.Region, func(transport.STag)){
			revokeOne, endOne,
		}},
	} {
		for last := range tt.ops {
			t.Run(fmt.Sprintf("%s, the call of number %d lasts", tt.name, last), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { closeAwaits(t, tt.ops, last) })
			})
		}
	}
}

func abandonOne(tb *Table, r transport.Region, _ func(transport.STag)) { tb.Abandon(r) }
func revokeOne(tb *Table, r transport.Region, _ func(transport.STag))  { tb.Revoke(r) }
func endOne(tb *Table, r transport.Region, detach func(transport.STag)) {
	tb.EndDetached(r.STag, detach)
}

// closeAwaits has all ops call detach for a window, lets all calls return except number last, and
// checks that Close waits for that one.
func closeAwaits(t *testing.T, ops []func(*Table, transport.Region, func(transport.STag)),
	last int) {
	calls := make(chan chan struct{}, len(ops))
	detach := func(transport.STag) {
		returns := make(chan struct{})
		calls <- returns
		<-returns
	}
	tb := New(1, detach)
	r := expose(t, tb, read, []byte("abc"))
	_, p, err := tb.Pin(nil, r.STag, r.Base, r.Len)
	if err != nil {
		t.Fatal(err)
	}
	var under []chan struct{}
	for i, op := range ops {
		go op(tb, r, detach)
		synctest.Wait()
		if len(calls) != 1 {
			t.Fatalf("operation %d called detach %d times, want once", i, len(calls))
		}
		under = append(under, <-calls)
	}
	tb.Unpin(p) // the provider has cut its batch at the end of the connection
	closed := false
	go func() {
		tb.Close()
		closed = true
	}()
	for i, returns := range under {
		if i != last {
			close(returns)
		}
	}
	synctest.Wait()
	if closed {
		t.Error("Close returned during a call of detach")
	}
	close(under[last])
	synctest.Wait()
	if !closed {
		t.Error("Close did not return after the last call of detach")
	}
	if len(calls) > 0 {
		t.Error("detach was called once more")
	}
}
