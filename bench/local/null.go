package local

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/bench/paired"
)

// batch is the number of operations between two readings of the clock. The shortest ones are so
// short that reading the clock would count.
const batch = 16

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

// Null compares the Latency of one NULL call at a time with a ping-pong between two goroutines over
// channels.
func Null() Pair {
	return Pair{
		Name:      "null",
		both:      paired.Scenario{Metric: paired.Latency, Batch: batch, Procs: 1},
		yardstick: func(*Rig) operation { return pingPong },
		candidate: func(r *Rig) operation { return r.null },
	}
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

// NullMany compares the Rate of NULL calls from inFlight goroutines with requests from as many
// goroutines to one, over channels.
func NullMany(inFlight int) Pair {
	return Pair{
		Name: fmt.Sprintf("null-x%d", inFlight),
		both: paired.Scenario{Metric: paired.Rate},
		yardstick: func(*Rig) operation {
			return func(n int) error { return manyToOne(inFlight, n) }
		},
		candidate: func(r *Rig) operation {
			return func(n int) error { return spreadOver(inFlight, n, r.null) }
		},
	}
}

// manyToOne sends n requests from goroutines to another one, which answers them.
func manyToOne(goroutines, n int) error {
	requests := make(chan chan int)
	go func() {
		for reply := range requests {
			reply <- 1
		}
	}()
	defer close(requests)
	return spreadOver(goroutines, n, func(n int) error {
		reply := make(chan int, 1)
		for range n {
			requests <- reply
			<-reply
		}
		return nil
	})
}

// spreadOver does n operations on that many goroutines, spread evenly.
func spreadOver(goroutines, n int, op operation) error {
	errs := make([]error, goroutines)
	var wait sync.WaitGroup
	for i := range goroutines {
		wait.Go(func() { errs[i] = op((n + i) / goroutines) })
	}
	wait.Wait()
	return errors.Join(errs...)
}
