package stats_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rpcrdma/go-rpcrdma/internal/stats"
)

type counted struct {
	First, Second uint64
	Now           int // no counter
	Third         uint64
}

func TestLoad(t *testing.T) {
	s := counted{1, 2, 3, 4}
	if got, want := stats.Load(&s), (counted{1, 2, 0, 4}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestAdd(t *testing.T) {
	sum := counted{10, 20, 30, 40}
	stats.Add(&sum, &counted{1, 2, 3, 4})
	if want := (counted{11, 22, 30, 44}); sum != want {
		t.Errorf("got %+v, want %+v", sum, want)
	}
}

// TestConcurrent counts while others read: the race detector watches.
func TestConcurrent(t *testing.T) {
	const each = 1000
	var s counted
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			for range each {
				atomic.AddUint64(&s.Third, 1)
				stats.Load(&s)
			}
		})
	}
	group.Wait()
	if got := stats.Load(&s).Third; got != 2*each {
		t.Errorf("got %d, want %d", got, 2*each)
	}
}
