package gateway

import "sync/atomic"

// maxIdle is how many idle workers are kept.
const maxIdle = 64

// workers are the goroutines that wait for replies, one for each call under way. Their number is
// bounded by recordmark.Config.MaxInFlight and the server's MaxConns. So no call waits for a
// worker, unlike in oncrpc.Server, whose workers are bounded.
type workers struct {
	work chan *call // to an idle worker
	idle atomic.Int32
	quit chan struct{}
}

func (w *workers) init() {
	w.work = make(chan *call)
	w.quit = make(chan struct{})
}

// start passes a call on. It does not block.
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

// next returns another call, or nil if the worker is no longer needed.
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
