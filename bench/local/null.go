package local

import (
	"context"
	"errors"
	"sync"
)

// pingPong sends a word to another goroutine and back, n times.
func pingPong(n int) error {
	to, from := make(chan int), make(chan int)
	go func() {
		for v := range to {
			from <- v
		}
	}()
	defer close(to)
	for i := range n {
		to <- i
		<-from
	}
	return nil
}

// Null is one NULL call at a time against a ping-pong between two goroutines over channels.
func (r *Rig) Null() Pair {
	return Pair{Metric: Latency, Procs: 1, Yardstick: pingPong, Candidate: r.null}
}

func (r *Rig) null(n int) error {
	ctx := context.Background()
	for range n {
		if err := r.client.Null(ctx); err != nil {
			return err
		}
	}
	return nil
}

// NullMany is NULL calls from inFlight goroutines against requests from as many to one goroutine, over channels.
func (r *Rig) NullMany(inFlight int) Pair {
	return Pair{
		Yardstick: func(n int) error {
			requests := make(chan chan int)
			go func() {
				for reply := range requests {
					reply <- 1
				}
			}()
			defer close(requests)
			return spreadOver(inFlight, n, func(n int) error {
				reply := make(chan int, 1)
				for range n {
					requests <- reply
					<-reply
				}
				return nil
			})
		},
		Candidate: func(n int) error { return spreadOver(inFlight, n, r.null) },
	}
}

// spreadOver has goroutines do n operations, as many each, or one more.
func spreadOver(goroutines, n int, op func(n int) error) error {
	errs := make([]error, goroutines)
	var wait sync.WaitGroup
	for i := range goroutines {
		wait.Go(func() { errs[i] = op((n + i) / goroutines) })
	}
	wait.Wait()
	return errors.Join(errs...)
}
