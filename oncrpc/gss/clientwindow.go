package gss

import (
	"context"
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/internal/list"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// The server drops a call whose sequence number is W or more below the highest that it has seen,
// where W is its window (RFC 2203 section 5.3.3.1). Only its answer proves that it has seen a
// number. So the number of a transmission is less than W above that of any without an answer.
//
// A call gets its number when it is sealed, which must not block. So it waits before, in Ready,
// until there is a number for it and for each call that was ready before it and has none yet. Ready
// is not called before a call is sent again over another connection, which takes another number. If
// that would be too high, Seal fails with oncrpc.ErrNotReady, and the call waits in Ready.

// waiter is a call that waits for a sequence number in the window.
type waiter struct {
	place list.Place[waiter]
	ready chan struct{} // closed when there is one
}

// fits reports whether the server sees all numbers in its window after it has seen the next n+1 of
// the context; f.mu is held.
func (cc *clientContext) fits(n int) bool {
	next := int64(cc.seq.Load()) + 1
	oldest := next
	if k := cc.unanswered.First(); k != nil {
		oldest = int64(k.seq)
	}
	return next+int64(n)-oldest < int64(cc.window)
}

// room reports whether another call may be under way; f.mu is held.
func (f *ClientFlavor) room() bool {
	cc, ready := f.current.Load(), f.underWay-f.sealed
	if cc.stale.Load() { // the next context has used no numbers yet
		return ready < cc.window
	}
	return cc.fits(ready)
}

// enter waits until there is room for a call. It reports whether it waited.
func (f *ClientFlavor) enter(ctx context.Context) (waited bool, err error) {
	f.mu.Lock()
	if f.waiting.First() == nil && f.room() {
		f.underWay++
		f.mu.Unlock()
		return false, nil
	}
	w := &waiter{ready: make(chan struct{})}
	f.waiting.Push(&w.place, w)
	f.mu.Unlock()
	select {
	case <-w.ready:
		return true, nil
	case <-ctx.Done():
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if w.place.In() {
		f.waiting.Remove(&w.place)
	} else {
		f.leave()
	}
	return true, ctx.Err()
}

// admit lets in the calls for which there is room now, beginning with the one that has waited
// longest; f.mu is held.
func (f *ClientFlavor) admit() {
	for w := f.waiting.First(); w != nil && f.room(); w = f.waiting.First() {
		f.waiting.Remove(&w.place)
		f.underWay++
		close(w.ready)
	}
}

// Ended notes that a call has ended. It implements oncrpc.CallTracker.
func (f *ClientFlavor) Ended() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.leave()
}

// leave undoes enter; f.mu is held.
func (f *ClientFlavor) leave() {
	f.underWay--
	f.admit()
}

// errWindow has the call wait in Ready.
var errWindow = fmt.Errorf("gss: sequence number is not in the server's window yet: %w",
	oncrpc.ErrNotReady)

// number gives a transmission its sequence number in the current context.
func (f *ClientFlavor) number(k *clientCheck) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	cc := f.current.Load()
	switch {
	case cc == nil:
		return errNoContext
	case !cc.fits(0):
		return errWindow
	}
	seq, err := cc.nextSeq()
	if err != nil {
		return err
	}
	k.begin(cc.Context, f.cfg.Service, seq)
	k.cc = cc
	cc.unanswered.Push(&k.place, k)
	f.sealed++
	return nil
}

// nextSeq returns the next sequence number of the context.
func (cc *clientContext) nextSeq() (uint32, error) {
	seq := cc.seq.Add(1)
	if seq >= maxSeq {
		cc.seq.Store(maxSeq)
		return 0, errNumbers
	}
	return seq, nil
}

// forget ends what number began: the transmission has been answered or given up.
func (f *ClientFlavor) forget(k *clientCheck) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k.cc.unanswered.Remove(&k.place)
	f.sealed--
	f.admit()
}
