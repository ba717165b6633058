package loopback

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// link is a connection: two endpoints and the goroutine that serves them, the pump.
type link struct {
	mu    sync.Mutex // guards the queues and the state of both ends
	work  sync.Cond  // there may be something to do; the pump alone waits for it
	ended bool
	ends  [2]*endpoint

	burst burst // the pump's own
}

// connect makes the connection that r asks for and returns its listening and its
// dialing end.
func connect(r *request, private []byte) (listening, dialing *endpoint) {
	l := &link{}
	l.work.L = &l.mu
	d := r.listener.fabric.Domain()
	here, there := r.listener.cfg, r.dialer.cfg
	listening = newEndpoint(l, d, describe(here, there, r.listener.addr, r.from, r.private))
	dialing = newEndpoint(l, d, describe(there, here, r.from, r.listener.addr, private))
	listening.peer, dialing.peer = dialing, listening
	l.ends = [2]*endpoint{listening, dialing}
	go l.pump()
	return listening, dialing
}

// describe returns the Info of the end with the limits own.
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
	}
}

// pump serves the two ends in turn until the connection has ended, and then completes
// what is left.
func (l *link) pump() {
	l.mu.Lock()
	for !l.ended {
		idle := true
		for _, e := range l.ends {
			if l.burst.gather(e) {
				idle = false
				l.mu.Unlock()
				l.burst.run()
				l.mu.Lock()
			}
			if l.ended {
				break
			}
		}
		if idle && !l.ended {
			l.work.Wait()
		}
	}
	l.mu.Unlock()

	for _, e := range l.ends {
		e.table.Close()
		e.flush()
	}
	for _, e := range l.ends {
		close(e.done)
	}
}

// end ends the connection, unless it has ended before: at e for the reason here, at
// its peer for the reason there. l.mu is held.
func (l *link) end(e *endpoint, here, there error) {
	if l.ended {
		return
	}
	l.ended = true
	e.err, e.closed = here, ended(here)
	e.peer.err, e.peer.closed = there, ended(there)
	l.work.Signal()
}

// flush completes what the connection did not come to, and lets go of the receives.
// The link has ended, so the queues do not grow any more.
func (e *endpoint) flush() {
	e.link.mu.Lock()
	e.recvs = ring[*transport.Receive]{}
	e.link.mu.Unlock()
	for {
		e.link.mu.Lock()
		wr, ok := e.sends.pop()
		e.link.mu.Unlock()
		if !ok {
			return
		}
		wr.Done.Complete(wr, e.opError(wr.Op.String(), transport.ErrFlushed))
	}
}
