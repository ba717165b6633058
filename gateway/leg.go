package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// route is where calls go.
type route struct {
	Route
	program uint32      // 0: all that have no route of their own
	taken   atomic.Bool // with IfUnavailable: the server has answered so

	mu     sync.Mutex // guards what follows
	failed int        // attempts to connect since the last that succeeded
}

// leg is the connection of one session to the end of one route.
type leg struct {
	ready chan struct{} // closed when there is one of these two
	conn  oncrpc.Transport
	err   error
}

// connection returns the session's connection to the end of a route, which is made if there is none.
func (s *session) connection(r *route) (oncrpc.Transport, error) {
	s.mu.Lock()
	l := s.legs[r]
	if l == nil {
		l = &leg{ready: make(chan struct{})}
		if !s.g.run(func() { s.connect(l, r) }) {
			s.mu.Unlock()
			return nil, context.Canceled
		}
		s.legs[r] = l
	}
	s.mu.Unlock()
	select {
	case <-l.ready:
		return l.conn, l.err
	case <-s.ctx.Done():
		return nil, s.ctx.Err()
	}
}

// connect makes the connection, and stays until it has ended, and with it the session.
func (s *session) connect(l *leg, r *route) {
	ctx, cancel := context.WithTimeout(s.ctx, s.g.cfg.DialTimeout)
	l.conn, l.err = r.Dial(ctx)
	cancel()
	again := false
	if s.ctx.Err() == nil || l.err == nil {
		again = s.g.dialled(r, s.client, l.err)
	}
	close(l.ready)
	if l.err != nil {
		if again {
			s.wait(s.g.pause)
		}
		s.client.Close()
		return
	}
	select {
	case <-l.conn.Done():
		if s.ctx.Err() == nil {
			s.g.stats.lost.Add(1)
			s.g.log.Debug("connection to the server has ended, and that of the client with it", "client", s.client.RemoteAddr(), "err", l.conn.Err())
		}
		s.client.Close()
	case <-s.ctx.Done():
		l.conn.Close()
		<-l.conn.Done()
	}
}

// wait waits, or until the session ends. Some clients that are disconnected come back at once, and do nothing else.
func (s *session) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// dialled counts an attempt to connect, and reports whether those before it failed. Clients try again and again; so of those that fail in a row only the
// first is logged aloud, and the next that succeeds.
func (g *Gateway) dialled(r *route, client oncrpc.Transport, err error) (again bool) {
	r.mu.Lock()
	before := r.failed
	r.failed++
	if err == nil {
		r.failed = 0
	}
	r.mu.Unlock()
	log := g.log.With("client", client.RemoteAddr())
	if r.program != 0 {
		log = log.With("program", r.program)
	}
	switch {
	case err == nil:
		g.stats.dials.Add(1)
		if before > 0 {
			log.Info("connected to the server again", "failed", before)
		}
	case before == 0:
		g.stats.dialFailures.Add(1)
		log.Warn("cannot connect to the server; clients are disconnected until that succeeds", "err", err)
	default:
		g.stats.dialFailures.Add(1)
		log.Debug("cannot connect to the server", "failed", before+1, "err", err)
	}
	return before > 0
}
