package iwarp

import (
	"sync"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// endpoint is one end of a connection.
//
// Sending is the work of one goroutine at a time, the one that has set sending: it takes requests off the queues, cuts them
// into segments and hands these to the LLP. That may be whoever posts, the goroutine that receives, or, when
// the network takes no more, the one that waits for that (flusher.go). Receiving is the work of run. Completions are delivered by one
// goroutine at a time, the one that has set completing.
type endpoint struct {
	link
	details any // what the setup came to, as the LLP has it: SetupOf knows

	started chan struct{} // closed by Start
	done    chan struct{}

	receiver  receiver
	completer completer
	flusher   flusher

	batchMu sync.Mutex // guards out and the batch of the LLP; taken before mu
	out     outgoing

	// mu guards what follows.
	sending bool // a goroutine sends
	corked  bool // the goroutine that receives will send when it is through

	// See nudge.go.
	answered   bool // the peer has sent something
	nudgeAfter time.Duration
	nudges     *time.Timer
	nudged     int
}

var (
	_ transport.Endpoint         = (*endpoint)(nil)
	_ transport.Abandoner        = (*endpoint)(nil)
	_ transport.Poller           = (*endpoint)(nil)
	_ transport.SharedReceiver   = (*endpoint)(nil)
	_ transport.ProgressReporter = (*endpoint)(nil)
)

// newEndpoint makes an endpoint of a connection that has been set up, with details for SetupOf. Its
// initiator sends the RTR that was agreed on.
func newEndpoint(llp ddp.LLP, s *ddp.Setup, details any, cfg *Config, info transport.Info) *endpoint {
	info.Provider = provider
	info.PrivateData = s.PrivateData
	info.IRD, info.ORD = s.IRD, s.ORD
	info.SendDepth, info.RecvDepth = cfg.SendDepth, cfg.RecvDepth
	info.MaxMessage, info.MaxRegions = maxMessage, maxRegions
	info.EndpointTags, info.CanHold = true, true
	e := &endpoint{
		link: link{
			info:     info,
			version:  uint8(s.Version),
			draft05:  s.Draft05,
			llp:      llp,
			counters: cfg.Counters,
			cfg:      cfg,
			full:     opError("post", info.RemoteAddr, transport.ErrQueueFull),
			over:     make(chan struct{}),
			queues:   newQueues(cfg.SendDepth, s.IRD, s.ORD),
			heard:    s.Initiator,
		},
		details: details,
		started: make(chan struct{}),
		done:    make(chan struct{}),
	}
	e.idle.L = &e.mu
	e.table = stag.New(maxRegions, e.detach)
	e.flusher = flusher{link: &e.link, endpoint: e, kick: make(chan struct{}, 1)}
	e.completer = completer{link: &e.link, flusher: &e.flusher}
	e.receiver.init(e, s)
	e.out.version = e.version
	if s.Initiator {
		e.queues.rtr, e.nudgeAfter = s.RTR, cfg.NudgeAfter
	}
	e.counters.Connections.Add(1)
	go e.run()
	if e.queues.rtr != 0 {
		e.send()
	}
	return e
}

// TrafficOf returns the bytes that have crossed the network in each direction since ep was set up,
// as TCP's payload: headers, padding, CRCs and markers included. Where there is another protocol
// below iWARP, TLS for one, they are what that was given to carry. It finds the connection as SetupOf
// does, and reports false for endpoints of other providers.
func TrafficOf(ep transport.Endpoint) (sent, received uint64, ok bool) {
	e, ok := transport.As[*endpoint](ep)
	if !ok {
		return 0, 0, false
	}
	sent, received = e.llp.Traffic()
	return sent, received, true
}

// Progress reports what TrafficOf does.
func (e *endpoint) Progress() (sent, received uint64) { return e.llp.Traffic() }

// Start begins delivery to r.
func (e *endpoint) Start(r transport.MessageHandler) {
	e.mu.Lock()
	if e.handler != nil {
		e.mu.Unlock()
		panic("iwarp: Start called twice")
	}
	e.handler = r
	e.receiver.awaitRTR()
	if e.broken != nil {
		e.awaitReason()
	}
	e.mu.Unlock()
	close(e.started)
}

// PostRecv queues receives.
func (e *endpoint) PostRecv(rs ...*transport.RecvRequest) error { return e.receiver.receives.post(rs) }

// ShareRecv names where memory for promises comes from.
func (e *endpoint) ShareRecv(src transport.RecvSource) {
	e.receiver.receives.source, e.receiver.receives.resume = src, make(chan struct{}, 1)
}

// PromiseRecv queues promises.
func (e *endpoint) PromiseRecv(n int) error { return e.receiver.receives.promise(n) }

// ResumeRecv has the message that waits for memory ask again.
func (e *endpoint) ResumeRecv() { e.receiver.receives.wake() }

// Domain returns memory of the Go heap.
func (e *endpoint) Domain() transport.Domain { return domain{} }

// Info describes the connection.
func (e *endpoint) Info() transport.Info { return e.info }

// Done is closed when the connection has ended.
func (e *endpoint) Done() <-chan struct{} { return e.done }

// Expose opens one window.
func (e *endpoint) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	r, err := e.table.Expose(list, access)
	if err != nil {
		return dst, e.opError("expose", err)
	}
	if access&transport.RemoteRead != 0 {
		e.offered.Store(true)
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

// detach has the batch refer to the memory of a window no longer.
func (e *endpoint) detach(tag transport.STag) {
	e.batchMu.Lock()
	defer e.batchMu.Unlock()
	e.detachHeld(tag)
}

// detachHeld is detach for who holds batchMu.
func (e *endpoint) detachHeld(tag transport.STag) {
	e.llp.Detach(tag)
	e.out.detach(e.table, tag)
}
