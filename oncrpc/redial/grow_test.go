package redial_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/oncrpc/redial"
)

// heldConn blocks whoever checks next whether it has ended, until goOn is closed.
type heldConn struct {
	*fakeConn
	hold *atomic.Bool
	goOn chan struct{}
}

func (h heldConn) Done() <-chan struct{} {
	if h.hold.CompareAndSwap(true, false) {
		<-h.goOn
	}
	return h.fakeConn.Done()
}

// A call that saw too few connections, and continues when there are enough, dials no more.
func TestConnsBehindGrowth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newFakeHost()
		var hold atomic.Bool
		goOn := make(chan struct{})
		c, err := redial.New(t.Context(), func(ctx context.Context) (oncrpc.Transport, error) {
			conn, err := p.dial(ctx)
			if err != nil {
				return nil, err
			}
			return heldConn{conn.(*fakeConn), &hold, goOn}, nil
		}, redial.Config{Conns: 2, Logger: p.logger()})
		if err != nil {
			t.Fatal(err)
		}
		hold.Store(true)
		late := start(t.Context(), c, exchange(true)) // has seen one connection
		synctest.Wait()
		calls := []chan error{late}
		for range 2 { // the second makes redial dial another
			calls = append(calls, start(t.Context(), c, exchange(true)))
			synctest.Wait()
		}
		if n := len(p.conns); n != 2 {
			t.Errorf("%d connections before the late call, want 2", n)
		}
		close(goOn)
		synctest.Wait()
		if n := len(p.conns); n != 2 {
			t.Errorf("%d connections, want the 2 that there may be", n)
		}
		for _, f := range p.conns {
			for len(f.calls) > 0 {
				f.next(t).answer <- nil
			}
		}
		for _, done := range calls {
			returned(t, done, nil)
		}
		c.Close()
		<-c.Done()
	})
}
