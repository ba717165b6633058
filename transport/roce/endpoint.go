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
	// maxRegions is the number of windows that an endpoint can have open.
	maxRegions = 1 << 16
	// maxLength is the most bytes of one request: beyond it the packet sequence numbers of a path
	// with a small MTU would not do.
	maxLength = 1 << 29
	// windowLen and windowPackets bound what a connection has in flight: what the buffer of a
	// socket of rmem_max, as it comes with Linux, holds for about two of them.
	windowLen     = 512 << 10
	windowPackets = 256
)

// endpoint is a queue pair.
type endpoint struct {
	dev   *device
	cfg   *Config
	conn  *conn
	qp    uint32         // its number
	peer  netip.AddrPort // where packets go
	info  transport.Info
	table *stag.Table
	done  chan struct{}
	full  error // what Post fails with while the queue is full, made once
	path  bth.Path
	trace func(packet []byte)
	ids   identifications // of the goroutine that receives

	source  transport.RecvSource // of promised receives; set before Start
	traffic rc.Traffic

	queued bool // among those that are ready to send; device.readyMu guards it

	// taking is held while packets of the peer are taken and messages delivered, and delivering
	// while completions are. The end waits for both.
	taking     sync.Mutex
	delivering sync.Mutex

	mu       sync.Mutex // guards what follows
	req      *rc.Requester
	resp     *rc.Responder
	receiver transport.MessageHandler // nil before Start
	busy     bool                     // packets are being taken: what is posted waits
	heard    time.Time                // something from the peer
	noticed  time.Time                // the peer was told of congestion
	notice   bool                     // it is to be told
	probe    transport.WorkRequest    // see keepAlive
	timer    *time.Timer
	due      time.Time // when the timer rings; zero: it does not
	err      error     // why the connection ended
	closed   error     // the same, such that it wraps net.ErrClosed
	refused  error     // what the oldest request fails with, if the end is its fault
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
	rnrRetry     int    // how often the peer may not be ready
	qp           uint32 // of the peer
	psn, peerPSN uint32 // of the first packet to the peer, and of the first from it
}

// newEndpoint makes a queue pair that has a number, but no peer yet: see connect.
func newEndpoint(d *device, cfg *Config) *endpoint {
	e := &endpoint{dev: d, cfg: cfg, done: make(chan struct{}), table: stag.New(maxRegions, nil)}
	e.traffic.Counters = tally{cfg.Counters}
	return e
}

// connect makes the connection of what was agreed, before the device knows the endpoint.
func (e *endpoint) connect(a *agreed) {
	d, cfg := e.dev, e.cfg
	e.peer = netip.AddrPortFrom(a.peer.IP, UDPPort)
	e.path, e.trace = bth.NewPath(d.local, e.peer), d.traceTo(cfg, e.peer)
	e.info = transport.Info{
		Provider: provider, LocalAddr: a.local, RemoteAddr: a.peer, PrivateData: a.private,
		IRD: a.ird, ORD: a.ord, SendDepth: cfg.SendDepth, RecvDepth: cfg.RecvDepth,
		MaxMessage: maxLength, MaxRegions: maxRegions, EndpointTags: true, CanHold: true,
	}
	e.full = e.opError("post", transport.ErrQueueFull)
	e.req = rc.NewRequester(rc.RequesterConfig{
		QP: a.qp, PSN: a.psn, MTU: a.mtu, Depth: cfg.SendDepth, Reads: a.ord, RNRRetry: a.rnrRetry,
		Window: min(windowLen/a.mtu, windowPackets), PeerTimeout: cfg.PeerTimeout,
		Invalidate: e.table.End, Traffic: &e.traffic,
	})
	e.resp = rc.NewResponder(rc.ResponderConfig{
		QP: a.qp, PSN: a.peerPSN, MTU: a.mtu, Depth: cfg.RecvDepth, Reads: a.ird,
		PeerTimeout: cfg.PeerTimeout, Table: e.table, Traffic: &e.traffic,
	})
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

// Post queues requests, and sends them if that is possible at once.
func (e *endpoint) Post(wrs ...*transport.WorkRequest) error {
	if err := e.info.CheckPost(wrs); err != nil {
		return e.opError("post", err)
	}
	e.mu.Lock()
	switch {
	case e.closed != nil:
		e.mu.Unlock()
		return e.opError("post", e.closed)
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
	case e.closed != nil:
		return e.opError("post", e.closed)
	case !e.resp.RecvRoom(len(rs)):
		return e.full
	}
	for _, r := range rs {
		e.resp.PostRecv(r)
	}
	return nil
}

// ShareRecv names where memory for promised receives comes from.
func (e *endpoint) ShareRecv(src transport.RecvSource) { e.source = src }

// PromiseRecv queues promises.
func (e *endpoint) PromiseRecv(n int) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed != nil:
		return e.opError("post", e.closed)
	case !e.resp.RecvRoom(n):
		return e.full
	}
	e.resp.Promise(n)
	return nil
}

// ResumeRecv has nothing to do: the peer was told to send again in a while what found no memory,
// and does so.
func (e *endpoint) ResumeRecv() {}

// Expose opens one window.
func (e *endpoint) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	r, err := e.table.Expose(list, access)
	if err != nil {
		return dst, e.opError("expose", err)
	}
	return append(dst, r), nil
}

// Revoke ends windows. It does not fail.
func (e *endpoint) Revoke(regions ...transport.Region) error {
	e.table.Revoke(regions...)
	return nil
}

// Abandon cuts a window loose from its memory. It does not fail.
func (e *endpoint) Abandon(r transport.Region) error {
	e.table.Abandon(r)
	return nil
}

// Progress reports bytes of payload.
func (e *endpoint) Progress() transport.Progress {
	return transport.Progress{
		Sent: e.traffic.Sent.Load(), Received: e.traffic.Received.Load(), Read: e.traffic.Read.Load(),
	}
}

// Domain returns the Go heap.
func (e *endpoint) Domain() transport.Domain { return domain{} }

// Info describes the connection.
func (e *endpoint) Info() transport.Info { return e.info }

// Done is closed when the connection has ended.
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
		e.conn.askToEnd() // now, as the process may end
		e.dev.flush()
	}
	return nil
}

// opError wraps err in what was being done here, and with whom.
func (e *endpoint) opError(op string, err error) error {
	return opError(op, e.info.RemoteAddr, err)
}
