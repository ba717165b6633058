package gateway

import "sync/atomic"

// maxIdle is how many workers are kept for later.
const maxIdle = 64

// workers are the goroutines that wait for replies, one for each call under way. What bounds them
// is recordmark's Config.MaxInFlight, and the server's MaxConns. Hence no call waits for a worker,
// as it may in a Server, whose handlers are bounded.
type workers struct {
	work chan *call // to one that is idle
	idle atomic.Int32
	quit chan struct{}
}

func (w *workers) init() {
	w.work = make(chan *call)
	w.quit = make(chan struct{})
}

// start has a call passed on, and does not block.
func (g *Gateway) start(c *call) {
	select {
	case g.workers.work <- c:
	default:
		if !g.run(func() { g.workers.serve(c) }) {
			c.drop()
		}
	}
}

// serve passes calls on, c first.
func (w *workers) serve(c *call) {
	for c != nil {
		c.pass()
		c = w.next()
	}
}

// next returns another call, or nil when this worker is not needed any more.
func (w *workers) next() (c *call) {
	defer w.idle.Add(-1)
	if w.idle.Add(1) > maxIdle {
		return nil
	}
	select {
	case c = <-w.work:
	case <-w.quit:
	}
	return c
}
