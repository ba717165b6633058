package nfsfs

import "sync"

// parallel divides a transfer into parts, several of which are read or written at a time.
type parallel struct {
	len  int
	size int                                   // of a part
	do   func(from, to int) (n int, err error) // does n bytes of the part

	mu   sync.Mutex // guards what follows
	next int        // where the next part begins
	stop int        // where the transfer ends
	err  error      // why it ends there
}

// inParallel transfers n bytes. It returns how many bytes from the start are done, and the error
// that stopped the next one.
func inParallel(n, size, workers int, do func(from, to int) (int, error)) (int, error) {
	p := &parallel{len: n, size: size, do: do, stop: n}
	var wg sync.WaitGroup
	for range min(workers, (n-1)/size+1) {
		wg.Go(p.run)
	}
	wg.Wait()
	return p.stop, p.err
}

func (p *parallel) run() {
	for {
		from, to, ok := p.take()
		if !ok {
			return
		}
		if n, err := p.do(from, to); err != nil {
			p.end(from+n, err)
		}
	}
}

// take returns the next part. It returns false at the end, or after an error.
func (p *parallel) take() (from, to int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	from = p.next
	to = min(p.len-from, p.size) + from
	p.next = to
	return from, to, from < p.stop
}

func (p *parallel) end(at int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at < p.stop {
		p.stop, p.err = at, err
	}
}
