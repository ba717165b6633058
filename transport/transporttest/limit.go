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
	return &limited{FullEndpoint: ep, limits: limits, open: make(map[transport.STag]bool)}
}

// limited implements all abilities itself; otherwise calls of them would bypass it.
type limited struct {
	FullEndpoint
	limits Limits

	mu   sync.Mutex              // guards open
	open map[transport.STag]bool // the windows
}

// Unwrap returns the endpoint below.
func (l *limited) Unwrap() transport.Endpoint { return l.FullEndpoint }

// Info implements transport.Endpoint.
func (l *limited) Info() transport.Info {
	info := l.FullEndpoint.Info()
	for _, x := range []struct {
		limit int
		info  *int
	}{
		{l.limits.MaxSendSGE, &info.MaxSendSGE},
		{l.limits.MaxRecvSGE, &info.MaxRecvSGE},
		{l.limits.MaxReadSGE, &info.MaxReadSGE},
		{l.limits.MaxMessage, &info.MaxMessage},
		{l.limits.MaxRegion, &info.MaxRegion},
		{l.limits.MaxRegions, &info.MaxRegions},
	} {
		if x.limit > 0 {
			*x.info = x.limit
		}
	}
	info.CanHold = info.CanHold && !l.limits.NoHold
	return info
}

func (l *limited) opError(op string, err error) error {
	info := l.FullEndpoint.Info()
	return &transport.OpError{Op: op, Provider: info.Provider, Peer: info.RemoteAddr, Err: err}
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
	info := l.Info()
	if err := info.CheckPost(wrs); err != nil {
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
	info := l.Info()
	if err := info.CheckPostRecv(rs); err != nil {
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
			if most := l.Info().MaxRegion; most > 0 {
				n = min(n, most)
			}
			var err error
			if rs, err = l.expose(rs, s.Sub(0, n), access); err != nil {
				if len(rs) > len(dst) {
					l.Revoke(rs[len(dst):]...)
				}
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
	if over(len(l.open)+1, l.Info().MaxRegions) {
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
	info := s.l.Info()
	if r == nil && !info.CanHold || r != nil && over(len(r.Local), info.MaxRecvSGE) {
		s.l.Close()
		return nil
	}
	return r
}

// Ready implements transport.RecvSource.
func (s limitedSource) Ready() bool { return !s.l.Info().CanHold || s.RecvSource.Ready() }
