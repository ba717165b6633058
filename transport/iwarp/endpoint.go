package iwarp

import (
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// endpoint is one end of a connection. It presents the connection to the upper layer, and manages
// its life: newEndpoint, connect and Start begin it, finish ends it. Its parts do the work:
//
//   - the sender takes requests from Post, and sends them as segments (sender.go, segmenter.go);
//   - the receiver takes the peer's segments, places payload and delivers messages (receiver.go);
//   - the completer tells the upper layer which requests are complete (completer.go).
//
// An endpoint has one goroutine, run, which receives. A second one, the flusher, starts when it is
// first needed. The parts share the link, whose mu guards what more than one goroutine touches. The
// segmenter has a mu of its own, which is taken before the link's.
type endpoint struct {
	link
	completer completer
	sender    sender
	receiver  receiver

	details any           // the result of the setup, for SetupOf
	started chan struct{} // closed by Start
	done    chan struct{} // closed by finish
}

var (
	_ transport.Endpoint         = (*endpoint)(nil)
	_ transport.Abandoner        = (*endpoint)(nil)
	_ transport.Poller           = (*endpoint)(nil)
	_ transport.SharedReceiver   = (*endpoint)(nil)
	_ transport.ProgressReporter = (*endpoint)(nil)
)

// newEndpoint makes an endpoint without a peer, for the upper layer to prepare. The info is what is
// known of the peer. After it comes connect or discard.
func newEndpoint(cfg *Config, info transport.Info) *endpoint {
	info.Provider = provider
	info.SendDepth, info.RecvDepth = cfg.SendDepth, cfg.RecvDepth
	info.MaxMessage, info.MaxRegions = maxMessage, maxRegions
	info.EndpointTags, info.RemoteInvalidate, info.CanHold = true, true, true
	e := &endpoint{
		link: link{
			llp:    unconnected{},
			queues: newQueues(cfg.SendDepth),
			constants: &constants{
				info:     info,
				counters: cfg.Counters,
				cfg:      cfg,
				full:     opError("post", info.RemoteAddr, transport.ErrQueueFull),
				over:     make(chan struct{}),
			},
		},
		started: make(chan struct{}),
		done:    make(chan struct{}),
	}
	e.idle.L = &e.mu
	e.Windows = stag.Windows{
		Table: stag.New(maxRegions, e.sender.segmenter.detach), Owner: &e.info,
	}
	e.completer = completer{link: &e.link, flusher: &e.sender.flusher}
	e.sender.init(&e.link, &e.completer)
	e.receiver.init(&e.link, &e.sender, &e.completer)
	return e
}

// connect gives e its peer, by a connection that has been set up. The details are for SetupOf. An
// initiator sends the agreed RTR.
func (e *endpoint) connect(conn net.Conn, llp ddp.LLP, s *ddp.Setup, details any) {
	e.llp, e.details = llp, details
	e.heard = s.Initiator || s.EitherFirst
	e.version, e.draft05 = version(s.Version), s.Draft05
	e.info.LocalAddr, e.info.RemoteAddr = conn.LocalAddr(), conn.RemoteAddr()
	e.info.PrivateData = s.PrivateData
	e.info.IRD, e.info.ORD = s.IRD, s.ORD
	e.full = e.opError("post", transport.ErrQueueFull)
	e.queues.connect(s)
	e.sender.connect(s)
	e.receiver.connect(s)
	atomic.AddUint64(&e.counters.stats.Connections, 1)
	go e.run()
	if s.Initiator && s.RTR != 0 {
		e.sender.send()
	}
}

// Start begins delivery to r.
func (e *endpoint) Start(r transport.MessageHandler) {
	e.mu.Lock()
	if e.handler != nil {
		e.mu.Unlock()
		panic("iwarp: Start called twice")
	}
	e.handler = r
	e.receiver.rtr.await()
	if e.broken != nil {
		e.sender.awaitReason()
	}
	e.mu.Unlock()
	close(e.started)
}

// run receives until the connection ends, and then takes it apart. If the upper layer ends the
// goroutine, another one does the latter.
func (e *endpoint) run() {
	returned := false
	defer func() {
		e.receiver.reader.Leave()
		if returned {
			e.finish()
			return
		}
		e.deserted()
		go e.finish()
	}()
	select {
	case <-e.started:
		e.receiver.run()
	case <-e.over:
	}
	returned = true
}

// Info describes the connection.
func (e *endpoint) Info() transport.Info { return e.info }

// Domain returns memory of the Go heap.
func (e *endpoint) Domain() transport.Domain { return stag.Heap{} }

// Done returns a channel that is closed when the connection has ended.
func (e *endpoint) Done() <-chan struct{} { return e.done }

// Post queues requests, and sends what the network takes without waiting.
func (e *endpoint) Post(wrs ...*transport.WorkRequest) error { return e.sender.post(wrs) }

// PostPolled queues requests for a caller that will call Poll.
func (e *endpoint) PostPolled(wrs ...*transport.WorkRequest) error { return e.sender.queue(wrs) }

// Poll sends what the network takes, and delivers completions.
func (e *endpoint) Poll() {
	e.sender.send()
	e.completer.complete()
}

// PostRecv queues receives.
func (e *endpoint) PostRecv(rs ...*transport.RecvRequest) error {
	return e.receiver.receives.post(rs)
}

// ShareRecv sets where the memory for promised receives comes from.
func (e *endpoint) ShareRecv(src transport.RecvSource) { e.receiver.receives.share(src) }

// PromiseRecv promises n receives, without memory yet.
func (e *endpoint) PromiseRecv(n int) error { return e.receiver.receives.promise(n) }

// ResumeRecv makes the message that waits for memory ask again.
func (e *endpoint) ResumeRecv() { e.llp.Resume() }

// Expose opens one window.
func (e *endpoint) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	dst, err := e.Windows.Expose(dst, list, access)
	if err == nil && access&transport.RemoteRead != 0 {
		e.offered.Store(true)
	}
	return dst, err
}

// Progress returns the same bytes as TrafficOf, and the payload of responses to RDMA Reads.
func (e *endpoint) Progress() transport.Progress {
	sent, received := e.llp.Traffic()
	return transport.Progress{Sent: sent, Received: received, Read: e.read.Load()}
}

// TrafficOf returns the bytes that TCP has carried in each direction since ep was set up: headers,
// padding, CRCs and markers included. With another protocol below iWARP, such as TLS, it returns
// the bytes given to that protocol. It finds the connection like SetupOf, and reports false for
// endpoints of other providers.
func TrafficOf(ep transport.Endpoint) (sent, received uint64, ok bool) {
	e, ok := transport.As[*endpoint](ep)
	if !ok {
		return 0, 0, false
	}
	sent, received = e.llp.Traffic()
	return sent, received, true
}
