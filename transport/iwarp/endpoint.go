package iwarp

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/ring"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// endpoint is one end of a connection.
//
// Sending is the work of one goroutine at a time, the one that has set sending: it takes requests off the queues, cuts them
// into segments and hands these to the LLP. That may be whoever posts, the goroutine that receives, or, when
// the network takes no more, the one that waits for that (flusher.go). Receiving is the work of run. Completions are delivered by one
// goroutine at a time, the one that has set completing.
type endpoint struct {
	info     transport.Info
	details  any // what the setup came to, as the LLP has it: SetupOf knows
	draft05  bool
	llp      ddp.LLP
	table    *stag.Table
	counters *Counters
	cfg      *Config
	full     error // what Post fails with while the queue is full, made once

	started chan struct{} // closed by Start
	over    chan struct{} // closed by end
	done    chan struct{}
	kick    chan struct{} // capacity 1: there is something for the flusher

	source transport.RecvSource // of promised receives, if not nil; set before Start
	resume chan struct{}        // capacity 1: the source may have memory again

	batchMu sync.Mutex // guards out and the batch of the LLP; taken before mu
	out     outgoing

	mu         sync.Mutex // guards what follows
	receiver   transport.MessageHandler
	sends      sendQueue
	recvs      ring.Ring[*transport.RecvRequest]
	promised   int // receives without memory of their own
	reads      ring.Ring[outboundRead]
	responses  ring.Ring[inboundRead]
	heard      bool  // the peer has sent something, or need not be waited for
	sending    bool  // a goroutine sends
	handed     bool  // the flusher is to send on
	corked     bool  // the goroutine that receives will send when it is through
	completing bool  // a goroutine delivers completions
	flushing   bool  // there is a flusher
	broken     error // why TCP takes nothing any more
	err        error
	closed     error  // the same, such that it wraps net.ErrClosed
	lastWords  []byte // a Terminate message that remains to be said
	blamed     uint64 // number of the work request that the peer found fault with, if fault is not nil
	fault      error
	idle       sync.Cond // sending or completing has become false

	// See nudge.go.
	answered   bool // the peer has sent something
	nudgeAfter time.Duration
	nudges     *time.Timer
	nudged     int

	rtrWithin time.Duration // how long an RTR may take to come, if there is to be one
	rtrLate   *time.Timer

	offered atomic.Bool // memory to read from, since the last message of the peer's

	in      incoming // of run
	placing placing  // likewise
}

var (
	_ transport.Endpoint         = (*endpoint)(nil)
	_ transport.Abandoner        = (*endpoint)(nil)
	_ transport.Poller           = (*endpoint)(nil)
	_ transport.SharedReceiver   = (*endpoint)(nil)
	_ transport.ProgressReporter = (*endpoint)(nil)
	_ ddp.Sink                   = (*endpoint)(nil)
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
		info:      info,
		details:   details,
		draft05:   s.Draft05,
		llp:       llp,
		counters:  cfg.Counters,
		cfg:       cfg,
		full:      opError("post", info.RemoteAddr, transport.ErrQueueFull),
		started:   make(chan struct{}),
		over:      make(chan struct{}),
		done:      make(chan struct{}),
		kick:      make(chan struct{}, 1),
		recvs:     ring.New[*transport.RecvRequest](cfg.RecvDepth),
		reads:     ring.New[outboundRead](max(s.ORD, 1)), // the RTR may be a Read even where there are no others
		responses: ring.New[inboundRead](s.IRD),
		heard:     s.Initiator,
	}
	e.sends.ring = ring.New[sendSlot](cfg.SendDepth)
	e.idle.L = &e.mu
	e.table = stag.New(maxRegions, e.detach)
	e.in.init(s)
	e.out.version = uint8(s.Version)
	if s.Initiator {
		e.out.rtr, e.nudgeAfter = s.RTR, cfg.NudgeAfter
	} else if s.RTR != 0 {
		e.rtrWithin = cfg.HandshakeTimeout
	}
	e.counters.Connections.Add(1)
	go e.run()
	if e.out.rtr != 0 {
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
	if e.receiver != nil {
		e.mu.Unlock()
		panic("iwarp: Start called twice")
	}
	e.receiver = r
	if e.rtrWithin > 0 {
		e.rtrLate = time.AfterFunc(e.rtrWithin, e.missRTR)
	}
	if e.broken != nil {
		e.awaitReason()
	}
	e.mu.Unlock()
	close(e.started)
}

// Domain returns memory of the Go heap.
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

// opError wraps err in what was being done here, and with whom.
func (e *endpoint) opError(op string, err error) error {
	return opError(op, e.info.RemoteAddr, err)
}
