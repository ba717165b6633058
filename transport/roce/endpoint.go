package roce

import (
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/rc"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

const (
	// maxRegions is how many windows an endpoint may have open.
	maxRegions = 1 << 16
	// maxLength is the maximum length of a request in bytes. With longer ones and a small MTU,
	// packet sequence numbers would not suffice.
	maxLength = 1 << 29
	// windowLen and windowPackets bound what a connection has in flight. A socket buffer of Linux's
	// default rmem_max holds about two windows.
	windowLen     = 512 << 10
	windowPackets = 256
)

// endpoint is a queue pair.
type endpoint struct {
	stag.Windows
	dev   *device // nil before connect, like conn
	cfg   *Config
	conn  *conn
	qp    uint32         // queue pair number
	peer  netip.AddrPort // destination of packets
	info  transport.Info
	done  chan struct{}
	full  error // error of Post while the queue is full, made once
	path  bth.Path
	trace func(packet []byte)
	ids   identifications // belongs to the goroutine that receives

	source  transport.RecvSource // memory for promised receives; set before Start
	traffic rc.Traffic

	queued bool // in device.ready; guarded by device.readyMu

	// taking is held while packets from the peer are taken and messages are delivered; delivering,
	// while completions are delivered. The end waits for both.
	taking     sync.Mutex
	delivering sync.Mutex

	mu       sync.Mutex // guards what follows
	req      *rc.Requester
	resp     *rc.Responder
	receiver transport.MessageHandler // nil before Start
	busy     bool                     // packets are being taken: posted requests wait
	heard    time.Time                // when the peer last sent something that was due
	noticed  time.Time                // when the peer was last told of congestion
	notice   bool                     // the peer must be told of congestion
	probe    transport.WorkRequest    // see keepAlive
	timer    *time.Timer
	due      time.Time // when the timer rings; zero: never
	err      error     // why the connection ended
	refused  error     // error of the oldest request, if it caused the end
}

var (
	_ transport.Endpoint         = (*endpoint)(nil)
	_ transport.Abandoner        = (*endpoint)(nil)
	_ transport.SharedReceiver   = (*endpoint)(nil)
	_ transport.ProgressReporter = (*endpoint)(nil)
)

// agreed is what two ends have told each other.
type agreed struct {
	peer         Addr
	local        Addr
	private      []byte
	mtu          int
	ird, ord     int
	rnrRetry     int    // how often the peer may be not ready
	qp           uint32 // of the peer
	psn, peerPSN uint32 // of the first packet to the peer, and from it
}

// newEndpoint makes a queue pair without a peer. It takes receives and windows; then it gets its
// peer by connect, or ends by discard. The Info has what is known of the peer.
func newEndpoint(cfg *Config, info transport.Info) *endpoint {
	info.Provider = provider
	info.SendDepth, info.RecvDepth = cfg.SendDepth, cfg.RecvDepth
	info.MaxMessage, info.MaxRegions = maxLength, maxRegions
	info.EndpointTags, info.RemoteInvalidate, info.CanHold = true, true, true
	e := &endpoint{cfg: cfg, info: info, done: make(chan struct{})}
	e.Windows = stag.Windows{Table: stag.New(maxRegions, nil), Owner: &e.info}
	e.full = e.opError("post", transport.ErrQueueFull)
	e.traffic.Counters = tally{cfg.Counters}
	e.resp = rc.NewResponder(rc.ResponderConfig{
		Depth: cfg.RecvDepth, PeerTimeout: cfg.PeerTimeout, Table: e.Table, Traffic: &e.traffic,
	})
	return e
}

// connect gives the endpoint its connection and its peer, before the device knows the endpoint.
func (e *endpoint) connect(c *conn, a *agreed) {
	d, cfg := c.dev, e.cfg
	e.dev, e.conn, e.qp = d, c, c.qp
	e.peer = netip.AddrPortFrom(a.peer.IP, UDPPort)
	e.path, e.trace = bth.NewPath(d.local, e.peer), d.traceTo(cfg, e.peer)
	e.info.LocalAddr, e.info.RemoteAddr, e.info.PrivateData = a.local, a.peer, a.private
	e.info.IRD, e.info.ORD = a.ird, a.ord
	e.full = e.opError("post", transport.ErrQueueFull) // now with the peer's address
	e.req = rc.NewRequester(rc.RequesterConfig{
		QP: a.qp, PSN: a.psn, MTU: a.mtu, Depth: cfg.SendDepth, Reads: a.ord, RNRRetry: a.rnrRetry,
		Window: min(windowLen/a.mtu, windowPackets), PeerTimeout: cfg.PeerTimeout,
		Invalidate: e.Table.End, Traffic: &e.traffic,
	})
	e.resp.Connect(rc.Peer{QP: a.qp, PSN: a.peerPSN, MTU: a.mtu, Reads: a.ird})
	e.probe.Op = transport.OpWrite
	e.heard = time.Now()
	e.timer = time.AfterFunc(time.Hour, e.ring)
	e.timer.Stop()
}

// Start begins delivery to r.
func (e *endpoint) Start(r transport.MessageHandler) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.receiver != nil {
		panic("roce: Start called twice")
	}
	e.receiver = r
	e.resp.Start()
}

// Post queues requests, and sends what it can without waiting.
func (e *endpoint) Post(wrs ...*transport.WorkRequest) error {
	if err := e.info.CheckPost(wrs); err != nil {
		return e.opError("post", err)
	}
	e.mu.Lock()
	switch {
	case e.err != nil:
		e.mu.Unlock()
		return e.opError("post", transport.ClosedError(e.err))
	case !e.req.Room(len(wrs)):
		e.mu.Unlock()
		return e.full
	}
	for _, wr := range wrs {
		e.req.Post(wr)
	}
	busy := e.busy
	e.mu.Unlock()
	if !busy {
		e.dev.schedule(e)
		e.dev.flush()
	}
	return nil
}

// PostRecv queues receives.
func (e *endpoint) PostRecv(rs ...*transport.RecvRequest) error {
	if err := e.info.CheckPostRecv(rs); err != nil {
		return e.opError("post", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return e.opError("post", transport.ClosedError(e.err))
	case !e.resp.RecvRoom(len(rs)):
		return e.full
	}
	for _, r := range rs {
		e.resp.PostRecv(r)
	}
	return nil
}

// ShareRecv sets where the memory for promised receives comes from.
func (e *endpoint) ShareRecv(src transport.RecvSource) { e.source = src }

// PromiseRecv promises n receives, without memory yet.
func (e *endpoint) PromiseRecv(n int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.err != nil:
		return e.opError("post", transport.ClosedError(e.err))
	case !e.resp.RecvRoom(n):
		return e.full
	}
	e.resp.Promise(n)
	return nil
}

// ResumeRecv does nothing: a peer whose message found no memory was told to send it again later.
func (e *endpoint) ResumeRecv() {}

// Progress returns the bytes of payload.
func (e *endpoint) Progress() transport.Progress {
	return transport.Progress{
		Sent: e.traffic.Sent.Load(), Received: e.traffic.Received.Load(), Read: e.traffic.Read.Load(),
	}
}

// Domain returns the Go heap.
func (e *endpoint) Domain() transport.Domain { return stag.Heap{} }

// Info describes the connection.
func (e *endpoint) Info() transport.Info { return e.info }

// Done returns a channel that is closed when the connection has ended.
func (e *endpoint) Done() <-chan struct{} { return e.done }

// Err says why the connection ended.
func (e *endpoint) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Close ends the connection. It does not fail.
func (e *endpoint) Close() error {
	e.mu.Lock()
	first := e.end(e.opError("close", net.ErrClosed), nil)
	e.mu.Unlock()
	if first {
		e.conn.askToEnd() // now, as the process may exit
		e.dev.flush()
	}
	return nil
}

// opError adds the operation and the peer to err.
func (e *endpoint) opError(op string, err error) error {
	return opError(op, e.info.RemoteAddr, err)
}
