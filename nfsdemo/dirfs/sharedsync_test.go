//go:build linux

package dirfs

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

// TestSharedSync: calls that arrive during a sync share the next sync and its error. None uses a
// sync that had begun before it arrived.
func TestSharedSync(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s sharedSync
		var rounds int
		failed := errors.New("failed")
		begin, end := make(chan struct{}), make(chan error)
		run := func() error {
			rounds++
			begin <- struct{}{}
			return <-end
		}
		var waiting sync.WaitGroup
		var good, bad atomic.Int64
		call := func(n int) {
			for range n {
				waiting.Go(func() {
					if s.do(run) == nil {
						good.Add(1)
					} else {
						bad.Add(1)
					}
				})
			}
			synctest.Wait()
		}
		call(1)
		<-begin
		call(10) // during the first
		end <- nil
		<-begin
		synctest.Wait()
		if good.Load() != 1 {
			t.Errorf("%d calls have ended with the first sync, want 1", good.Load())
		}
		call(5) // during the second
		end <- failed
		<-begin
		synctest.Wait()
		if good.Load() != 1 || bad.Load() != 10 {
			t.Errorf("%d calls have succeeded and %d failed after the second sync, want 1 and 10",
				good.Load(), bad.Load())
		}
		end <- nil
		waiting.Wait()
		if good.Load() != 6 || bad.Load() != 10 || rounds != 3 {
			t.Errorf("in %d syncs %d have succeeded and %d failed, want 3, 6 and 10",
				rounds, good.Load(), bad.Load())
		}
		waiting.Go(func() { _ = s.do(run) })
		<-begin
		end <- nil
		waiting.Wait()
		if rounds != 4 {
			t.Errorf("%d syncs, want one more for a call that comes alone", rounds)
		}
	})
}

// TestSharedSyncSees: a sync covers what its caller did before the call.
func TestSharedSyncSees(t *testing.T) {
	var s sharedSync
	var done, stored atomic.Int64
	sync := func() error {
		stored.Store(done.Load()) // syncs do not overlap
		return nil
	}
	t.Run("callers", func(t *testing.T) {
		for range 16 {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				for range 2000 {
					mine := done.Add(1)
					if err := s.do(sync); err != nil || stored.Load() < mine {
						t.Fatalf("change %d: stored are %d, %v", mine, stored.Load(), err)
					}
				}
			})
		}
	})
}
