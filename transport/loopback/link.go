package loopback

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
)

// link is a connection: two endpoints, and the goroutine that serves them, the pump.
type link struct {
	mu    sync.Mutex  // guards the queues and the state of both ends
	work  sync.Cond   // there may be something to do; only the pump waits for it
	busy  atomic.Bool // the pump or a goroutine that polls is at work; may be read without mu
	ended bool        // or not connected yet
	ends  [2]*endpoint

	fabric   *Fabric
	burst    burst    // of the goroutine at work
	observer Observer // nil: none
}

// newLink returns a link without ends.
func newLink(f *Fabric) *link {
	l := &link{fabric: f, ended: true}
	l.work.L = &l.mu
	return l
}

// connect connects two ends of the link.
func (l *link) connect(listening, dialing *endpoint) {
	l.observer = l.fabric.observer(dialing.info, listening.info)
	l.mu.Lock()
	defer l.mu.Unlock()
	listening.peer, dialing.peer = dialing, listening
	l.ends, l.ended = [2]*endpoint{listening, dialing}, false
	go l.pump()
}

// describe returns the Info of the end that has the limits own.
func describe(own, peer Config, local, remote Addr, private []byte) transport.Info {
	return transport.Info{
		Provider:    provider,
		LocalAddr:   local,
		RemoteAddr:  remote,
		PrivateData: private,
		IRD:         own.IRD,
		ORD:         min(own.ORD, peer.IRD),
		SendDepth:   own.SendDepth,
		RecvDepth:   own.RecvDepth,

		MaxRegions:       maxRegions,
		EndpointTags:     true,
		RemoteInvalidate: true,
		CanHold:          true,
	}
}

// pollRounds is how often, at most, a goroutine serves the two ends before it lets another one do
// so.
const pollRounds = 8

// pump serves the two ends until the connection has ended, and then takes it apart. If an upper
// layer ends this goroutine, another one goes on.
func (l *link) pump() {
	finished := false
	defer func() {
		if !finished {
			go l.pump()
		}
	}()
	l.serveOn()
	l.takeApart()
	finished = true
}

// serveOn serves the two ends until the connection has ended, except while a goroutine polls.
func (l *link) serveOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.busy.Load() || !l.ended {
		if l.busy.Load() || !l.serve(pollRounds) && !l.ended {
			l.work.Wait()
		}
	}
}

// takeApart completes what is left after the end. It may begin anew after an upper layer has ended
// the goroutine.
func (l *link) takeApart() {
	for _, e := range l.ends {
		e.Table.Close()
	}
	l.burst.report()
	for _, e := range l.ends {
		e.flush()
	}
	if o := l.observer; o != nil {
		l.observer = nil
		o.Ended()
	}
	for _, e := range l.ends {
		close(e.done)
	}
}

// poll serves the two ends for a while, unless another goroutine does.
func (l *link) poll() {
	// A goroutine that is at work looks again, with the lock, before it stops. So it finds what was
	// posted before.
	if l.busy.Load() {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy.Load() || l.ended {
		return
	}
	if l.serve(pollRounds) || l.ended {
		l.work.Signal()
	}
}

// serve serves the two ends in turn, until the connection has ended, nothing is left to do, or that
// many rounds are over. It reports whether there may be more work. l.mu is held, but not during the
// work.
func (l *link) serve(rounds int) (more bool) {
	more = true
	l.busy.Store(true)
	for ; rounds > 0 && more; rounds-- {
		more = false
		for _, e := range l.ends {
			if !l.ended && l.burst.gather(e) {
				more = true
				l.run()
			}
		}
	}
	l.busy.Store(false)
	return more
}

// run runs the burst, without l.mu, which is held. If an upper layer ends the goroutine, the
// connection ends; takeApart completes what is left of the burst.
func (l *link) run() {
	returned := false
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		if !returned {
			e := l.burst.calling
			l.end(e, e.opError("call", transport.ErrGoexit),
				e.peer.opError("receive", transport.ErrClosedByPeer))
			l.busy.Store(false)
			l.work.Signal() // if the pump did not run this
		}
	}()
	l.burst.run()
	returned = true
}

// end ends the connection, if it has not ended before. The reason is here for e and there for its
// peer. l.mu is held.
func (l *link) end(e *endpoint, here, there error) {
	if l.ended {
		return
	}
	l.ended = true
	e.err, e.peer.err = here, there
	l.work.Signal()
}

// discard ends an endpoint that gets no peer.
func (e *endpoint) discard(err error) {
	e.link.mu.Lock()
	e.err = err
	e.link.mu.Unlock()
	e.Table.Close()
	e.flush()
	close(e.done)
}

// flush completes requests that were not executed, and drops the receives. The link has ended, so
// the queues do not grow any more.
func (e *endpoint) flush() {
	e.link.mu.Lock()
	e.recvs, e.promised = ring.New[*transport.RecvRequest](0), 0
	e.link.mu.Unlock()
	for {
		e.link.mu.Lock()
		wr, ok := e.sends.Pop()
		e.link.mu.Unlock()
		if !ok {
			return
		}
		wr.Done.Complete(wr, e.opError(wr.Op.String(), transport.ErrFlushed))
	}
}
