package transporttest

import (
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// Limits are limits of transport.Info for Limit to impose. A field that is 0 changes nothing.
type Limits struct {
	MaxSendSGE, MaxRecvSGE, MaxReadSGE int // elements
	MaxMessage, MaxRegion              int // bytes
	MaxRegions                         int

	// NoHold clears CanHold.
	NoHold bool
}

// Limit returns an endpoint like ep with smaller limits. It refuses what exceeds them. It makes one
// Region for each Slice, as hardware does.
func Limit(ep FullEndpoint, limits Limits) FullEndpoint {
	l := &limited{FullEndpoint: ep, limits: limits, info: ep.Info(), open: make(map[transport.STag]bool)}
	for _, x := range []struct {
		limit int
		info  *int
	}{
		{limits.MaxSendSGE, &l.info.MaxSendSGE},
		{limits.MaxRecvSGE, &l.info.MaxRecvSGE},
		{limits.MaxReadSGE, &l.info.MaxReadSGE},
		{limits.MaxMessage, &l.info.MaxMessage},
		{limits.MaxRegion, &l.info.MaxRegion},
		{limits.MaxRegions, &l.info.MaxRegions},
	} {
		if x.limit > 0 {
			*x.info = x.limit
		}
	}
	l.info.CanHold = l.info.CanHold && !limits.NoHold
	return l
}

// limited implements all abilities itself; otherwise calls of them would bypass it.
type limited struct {
	FullEndpoint
	limits Limits
	info   transport.Info

	mu   sync.Mutex              // guards open
	open map[transport.STag]bool // the windows
}

// Unwrap returns the endpoint below.
func (l *limited) Unwrap() transport.Endpoint { return l.FullEndpoint }

// Info implements transport.Endpoint.
func (l *limited) Info() transport.Info { return l.info }

func (l *limited) opError(op string, err error) error {
	return &transport.OpError{Op: op, Provider: l.info.Provider, Peer: l.info.RemoteAddr, Err: err}
}

// over reports whether n exceeds a limit.
func over(n, limit int) bool { return limit > 0 && n > limit }

// Post implements transport.Endpoint.
func (l *limited) Post(wrs ...*transport.WorkRequest) error { return l.post(l.FullEndpoint.Post, wrs) }

// PostPolled implements transport.Poller.
func (l *limited) PostPolled(wrs ...*transport.WorkRequest) error {
	return l.post(l.FullEndpoint.PostPolled, wrs)
}

func (l *limited) post(post func(...*transport.WorkRequest) error, wrs []*transport.WorkRequest) error {
	if err := l.info.CheckPost(wrs); err != nil {
		return l.opError("post", err)
	}
	var ended []transport.STag
	for _, wr := range wrs {
		if wr.Op == transport.OpInvalidate {
			ended = append(ended, wr.Invalidate)
		}
	}
	err := post(wrs...)
	if err == nil && len(ended) > 0 {
		// These windows make room for new ones now, because new ones are used only after them.
		l.closed(ended...)
	}
	return err
}

// PostRecv implements transport.Endpoint.
func (l *limited) PostRecv(rs ...*transport.RecvRequest) error {
	if err := l.info.CheckPostRecv(rs); err != nil {
		return l.opError("post", err)
	}
	return l.FullEndpoint.PostRecv(rs...)
}

// Expose implements transport.Endpoint.
func (l *limited) Expose(dst []transport.Region, list []transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	rs := dst
	for _, s := range list {
		for s.Len() > 0 {
			n := s.Len()
			if l.info.MaxRegion > 0 {
				n = min(n, l.info.MaxRegion)
			}
			var err error
			if rs, err = l.expose(rs, s.Sub(0, n), access); err != nil {
				l.Revoke(rs[len(dst):]...)
				return dst, err
			}
			s = s.Sub(n, s.Len()-n)
		}
	}
	return rs, nil
}

// expose opens one window.
func (l *limited) expose(dst []transport.Region, s transport.Slice,
	access transport.Access) ([]transport.Region, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if over(len(l.open)+1, l.info.MaxRegions) {
		return dst, l.opError("expose", transport.ErrNoMemory)
	}
	dst, err := l.FullEndpoint.Expose(dst, []transport.Slice{s}, access)
	if err == nil {
		l.open[dst[len(dst)-1].STag] = true
	}
	return dst, err
}

// Revoke implements transport.Endpoint.
func (l *limited) Revoke(rs ...transport.Region) error {
	err := l.FullEndpoint.Revoke(rs...)
	for _, r := range rs {
		l.closed(r.STag)
	}
	return err
}

// closed notes that windows have ended.
func (l *limited) closed(tags ...transport.STag) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tag := range tags {
		delete(l.open, tag)
	}
}

// Start implements transport.Endpoint.
func (l *limited) Start(r transport.MessageHandler) { l.FullEndpoint.Start(limitedReceiver{r, l}) }

// limitedReceiver notes which windows the peer ends.
type limitedReceiver struct {
	transport.MessageHandler
	l *limited
}

func (r limitedReceiver) Received(batch []transport.Message) {
	for _, m := range batch {
		if m.HasInvalidate {
			r.l.closed(m.Invalidated)
		}
	}
	r.MessageHandler.Received(batch)
}

// ShareRecv implements transport.SharedReceiver.
func (l *limited) ShareRecv(src transport.RecvSource) {
	l.FullEndpoint.ShareRecv(limitedSource{src, l})
}

// limitedSource is a source that may not return nil.
type limitedSource struct {
	transport.RecvSource
	l *limited
}

// Receive ends the connection if the source returns nil.
func (s limitedSource) Receive() *transport.RecvRequest {
	r := s.RecvSource.Receive()
	if r == nil && !s.l.info.CanHold || r != nil && over(len(r.Local), s.l.info.MaxRecvSGE) {
		s.l.Close()
		return nil
	}
	return r
}

// Ready implements transport.RecvSource.
func (s limitedSource) Ready() bool { return !s.l.info.CanHold || s.RecvSource.Ready() }
