package loopback

import (
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// endpoint is one end of a link.
type endpoint struct {
	stag.Windows
	link   *link
	peer   *endpoint // nil while this end is prepared
	domain *Domain
	info   transport.Info
	done   chan struct{}
	full   error                // the error of Post while the queue is full, made once
	source transport.RecvSource // memory of promised receives; set before Start
	sent   atomic.Uint64        // bytes to the peer
	read   atomic.Uint64        // bytes from the peer by RDMA Reads

	// The lock of the link guards what follows.
	sends    ring.Ring[*transport.WorkRequest]
	recvs    ring.Ring[*transport.RecvRequest]
	promised int                      // receives without memory of their own
	held     bool                     // the source had no memory: messages wait for ResumeRecv
	resumed  bool                     // ResumeRecv came before held was set
	receiver transport.MessageHandler // nil before Start
	err      error                    // why the connection ended
}

var (
	_ transport.Endpoint         = (*endpoint)(nil)
	_ transport.Abandoner        = (*endpoint)(nil)
	_ transport.Poller           = (*endpoint)(nil)
	_ transport.SharedReceiver   = (*endpoint)(nil)
	_ transport.ProgressReporter = (*endpoint)(nil)
)

func newEndpoint(l *link, info transport.Info) *endpoint {
	e := &endpoint{
		link:   l,
		domain: l.fabric.Domain(),
		info:   info,
		done:   make(chan struct{}),
		full:   opError("post", info.RemoteAddr, transport.ErrQueueFull),
		sends:  ring.New[*transport.WorkRequest](info.SendDepth),
		recvs:  ring.New[*transport.RecvRequest](info.RecvDepth),
	}
	e.Windows = stag.Windows{Table: stag.New(maxRegions, nil), Owner: &e.info}
	return e
}

// Start begins delivery to r.
func (e *endpoint) Start(r transport.MessageHandler) {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	if e.receiver != nil {
		panic("loopback: Start called twice")
	}
	e.receiver = r
	e.link.work.Signal() // for what the peer has posted meanwhile
}

// Post queues requests.
func (e *endpoint) Post(wrs ...*transport.WorkRequest) error { return e.post(wrs, true) }

// PostPolled queues requests for a caller that will call Poll.
func (e *endpoint) PostPolled(wrs ...*transport.WorkRequest) error { return e.post(wrs, false) }

// Poll does the work of the connection for a while.
func (e *endpoint) Poll() { e.link.poll() }

func (e *endpoint) post(wrs []*transport.WorkRequest, wake bool) error {
	if err := e.info.CheckPost(wrs); err != nil {
		return e.opError("post", err)
	}
	l := e.link
	l.mu.Lock()
	switch {
	case e.err != nil:
		l.mu.Unlock()
		return e.opError("post", transport.ClosedError(e.err))
	case !e.sends.Room(len(wrs)):
		l.mu.Unlock()
		return e.full
	}
	for _, wr := range wrs {
		e.sends.Push(wr)
	}
	// A goroutine that is at work looks again before it stops.
	wake = wake && !l.busy.Load()
	l.mu.Unlock()
	if wake {
		l.work.Signal()
	}
	return nil
}

// PostRecv queues receives.
func (e *endpoint) PostRecv(rs ...*transport.RecvRequest) error {
	if err := e.info.CheckPostRecv(rs); err != nil {
		return e.opError("post", err)
	}
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	switch {
	case e.err != nil:
		return e.opError("post", transport.ClosedError(e.err))
	case !e.recvs.Room(len(rs) + e.promised):
		return e.full
	}
	for _, r := range rs {
		e.recvs.Push(r)
	}
	return nil
}

// Progress returns the bytes of the operations that have been executed.
func (e *endpoint) Progress() transport.Progress {
	return transport.Progress{
		Sent: e.sent.Load(), Received: e.peer.sent.Load(), Read: e.read.Load(),
	}
}

// Domain returns the memory of the fabric.
func (e *endpoint) Domain() transport.Domain { return e.domain }

// Info describes the connection.
func (e *endpoint) Info() transport.Info { return e.info }

// Done is closed when the connection has ended.
func (e *endpoint) Done() <-chan struct{} { return e.done }

// Close ends the connection. Only the first call on either end has an effect. It does not fail.
func (e *endpoint) Close() error {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	if e.err == nil && !e.link.ended {
		e.link.end(e, e.opError("close", net.ErrClosed),
			e.peer.opError("receive", transport.ErrClosedByPeer))
	}
	return nil
}

// Err says why the connection ended.
func (e *endpoint) Err() error {
	e.link.mu.Lock()
	defer e.link.mu.Unlock()
	return e.err
}

// opError wraps err in a *transport.OpError with the peer's address.
func (e *endpoint) opError(op string, err error) error {
	return opError(op, e.info.RemoteAddr, err)
}
