package roce

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/roce/cm"
)

// request is a peer's request for a connection.
type request struct {
	c           *conn
	req         *cm.REQ
	local, peer Addr
	upper       []byte // the upper layer's private data

	mu       sync.Mutex // guards answered
	answered bool
}

var _ transport.Request = (*request)(nil)

// errAnswered: the request was accepted or rejected before.
var errAnswered = errors.New("request already answered")

// Info describes the connection.
func (r *request) Info() transport.Info {
	return transport.Info{
		Provider: provider, LocalAddr: r.local, RemoteAddr: r.peer, PrivateData: r.upper,
	}
}

// unanswered fails if the request has been answered.
func (r *request) unanswered() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.answered {
		return errAnswered
	}
	return nil
}

// answer claims the right to answer the request, with private data of at most most bytes.
func (r *request) answer(private []byte, most int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case len(private) > most:
		return transport.ErrPrivateData
	case r.answered:
		return errAnswered
	}
	r.answered = true
	return nil
}

// Accept accepts the request with up to 196 bytes of private data, and waits until the peer knows.
func (r *request) Accept(ctx context.Context, prepare transport.Preparation) (
	transport.Endpoint, error) {
	if err := r.unanswered(); err != nil {
		return nil, opError("accept", r.peer, err)
	}
	c, d := r.c, r.c.dev
	e := newEndpoint(c.cfg, r.Info())
	var private []byte
	err := prepare.Connect("accept", e, func(p []byte) error {
		private = bytes.Clone(p)
		if err := ctx.Err(); err != nil {
			return err
		}
		return r.answer(private, cm.REPPrivateLen)
	}, e.discard)
	if err != nil {
		return nil, err
	}
	psn := random32()
	a := r.agreed(psn)
	e.connect(c, a)
	rep := &cm.REP{
		Local: c.id, Remote: c.peerID, QP: c.qp, PSN: a.peerPSN, ResponderResources: uint8(a.ird),
		InitiatorDepth: uint8(a.ord), AckDelay: ackDelay, RNRRetry: rnrRetry, CAGUID: d.guid,
		Private: private,
	}
	c.know(known{peerID: c.peerID, peerQP: c.peerQP, ep: e, again: rep})
	if err := c.grant(ctx, rep); err != nil {
		return nil, r.failed(e, err)
	}
	d.schedule(e) // to set its timer
	d.flush()
	atomic.AddUint64(&c.cfg.Counters.stats.Connections, 1)
	return e, nil
}

// failed undoes what Accept has begun, and returns its error. That is another one if the connection
// has ended at the same time.
func (r *request) failed(e *endpoint, err error) error {
	e.abort(opError("accept", r.peer, err))
	<-e.done
	atomic.AddUint64(&r.c.cfg.Counters.stats.SetupFailures, 1)
	return e.Err()
}

// grant sends a REP until the peer considers the connection made.
func (c *conn) grant(ctx context.Context, rep *cm.REP) error {
	deadline := time.NewTimer(c.cfg.SetupTimeout)
	defer deadline.Stop()
	c.send(rep)
	wait := firstRetry
	retry := time.NewTimer(wait)
	defer retry.Stop()
	for {
		select {
		case <-c.up:
			return nil
		case <-retry.C:
			c.send(rep)
			wait = min(2*wait, mostRetry)
			retry.Reset(wait)
		case m := <-c.events:
			switch m := m.(type) {
			case *cm.REJ:
				atomic.AddUint64(&c.cfg.Counters.stats.Rejected, 1)
				return fmt.Errorf("%w: %v", transport.ErrClosedByPeer, m.Reason)
			case *cm.MRA:
				retry.Reset(serviceTime(m.ServiceTimeout))
			}
		case <-ctx.Done():
			c.reject(cm.AboutOther, cm.Timeout, nil)
			return ctx.Err()
		case <-deadline.C:
			c.reject(cm.AboutOther, cm.Timeout, nil)
			return ErrPeerTimeout
		}
	}
}

// Reject refuses the request.
func (r *request) Reject(private []byte) error {
	if err := r.answer(private, cm.REJPrivateLen); err != nil {
		return opError("reject", r.peer, err)
	}
	atomic.AddUint64(&r.c.cfg.Counters.stats.Rejected, 1)
	r.refuse(cm.ConsumerDefined, bytes.Clone(private))
	return nil
}

// refuse refuses the request for a reason.
func (r *request) refuse(why cm.Reason, private []byte) {
	r.c.reject(cm.AboutREQ, why, private)
	r.c.remove()
}
