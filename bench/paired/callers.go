package paired

import (
	"errors"
	"sync/atomic"
	"time"
)

// Callers does independent operations, many at a time. It is the Run of Clients that make calls.
// Each caller has its own goroutine, which lives until End, so that rounds do not begin with
// growing stacks. A single caller runs on the goroutine that calls Run.
type Callers struct {
	do    func(caller int) error
	left  atomic.Int64    // operations of the run not yet begun
	begin []chan struct{} // by caller
	errs  chan error      // one result for each caller and run
}

// NewCallers returns n callers. do does one operation for a caller, numbered from 0.
func NewCallers(n int, do func(caller int) error) *Callers {
	c := &Callers{do: do, errs: make(chan error, n)}
	if n == 1 {
		return c
	}
	for caller := range n {
		begin := make(chan struct{})
		c.begin = append(c.begin, begin)
		go func() {
			for range begin {
				c.errs <- c.work(caller)
			}
		}()
	}
	return c
}

// Run does n operations. If their times are wanted, the first caller does all of them.
func (c *Callers) Run(n int, samples []time.Duration) error {
	if len(samples) > 0 {
		return c.timed(samples)
	}
	c.left.Store(int64(n))
	if len(c.begin) == 0 {
		return c.work(0)
	}
	for _, begin := range c.begin {
		begin <- struct{}{}
	}
	var err error
	for range c.begin {
		err = errors.Join(err, <-c.errs)
	}
	return err
}

// timed does and times one operation for each sample.
func (c *Callers) timed(samples []time.Duration) error {
	last := time.Now()
	for i := range samples {
		if err := c.do(0); err != nil {
			return err
		}
		now := time.Now()
		samples[i], last = now.Sub(last), now
	}
	return nil
}

// work does operations until none are left.
func (c *Callers) work(caller int) error {
	for c.left.Add(-1) >= 0 {
		if err := c.do(caller); err != nil {
			return err
		}
	}
	return nil
}

// End ends the goroutines.
func (c *Callers) End() {
	for _, begin := range c.begin {
		close(begin)
	}
}
