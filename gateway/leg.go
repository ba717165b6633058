package gateway

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
)

// route is a server, with the state that sessions share.
type route struct {
	Route
	program uint32      // 0: all programs without a route of their own
	taken   atomic.Bool // with IfUnavailable: the main server has answered PROG_UNAVAIL

	mu        sync.Mutex // guards what follows
	failed    int        // attempts to connect that failed since the last success
	succeeded time.Time  // when the last attempt to connect succeeded
}

// leg is the connection of a session to one server.
type leg struct {
	ready chan struct{} // closed when conn or err is set
	conn  oncrpc.Transport
	err   error
}

// connection returns the session's connection to a server. It makes one if there is none.
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

// connect makes the connection, and waits until the connection or the session ends. Then it ends
// the other.
func (s *session) connect(l *leg, r *route) {
	l.conn, l.err = s.dial(r)
	close(l.ready)
	if l.err != nil {
		s.client.Close()
		return
	}
	select {
	case <-l.conn.Done():
		if s.ctx.Err() == nil {
			atomic.AddUint64(&s.g.stats.Lost, 1)
			s.g.log.Debug("disconnecting the client: the connection to the server has ended",
				"client", s.client.RemoteAddr(), "err", l.conn.Err())
		}
		s.client.Close()
	case <-s.ctx.Done():
		l.conn.Close()
		<-l.conn.Done()
	}
}

const (
	// minPause and maxPause are the first and the longest pause between attempts to connect. Pauses
	// double.
	minPause, maxPause = 250 * time.Millisecond, 5 * time.Second
	// patience is how long a session waits for its server before it ends. It is bounded because the
	// gateway does not notice that a client has gone while it reads no more of its calls. A client
	// that is still there connects again.
	patience = 5 * time.Minute
)

// dial connects to a server, and keeps trying; calls wait meanwhile. It fails when patience or the
// session ends, with the error of the last attempt.
func (s *session) dial(r *route) (oncrpc.Transport, error) {
	began := time.Now()
	from := context.WithValue(s.ctx, clientKey{}, s.client.RemoteAddr())
	for pause := s.g.pause; ; pause = min(2*pause, maxPause) {
		ctx, cancel := context.WithTimeout(from, s.g.cfg.DialTimeout)
		stop := context.AfterFunc(s.g.draining, cancel)
		tried := time.Now()
		conn, err := r.Dial(ctx)
		stop()
		cancel()
		over := s.ctx.Err() != nil || s.g.draining.Err() != nil
		if err == nil || !over {
			s.g.dialled(r, s.client, tried, err)
		}
		if err == nil || over || time.Since(began) >= s.g.patience {
			return conn, err
		}
		s.wait(pause)
	}
}

// wait waits for d, or until the session ends or the gateway drains.
func (s *session) wait(d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	case <-s.g.draining.Done():
	}
}

// dialled counts an attempt to connect that began at tried. Of attempts that fail in a row only the
// first is logged as a warning, and so is the next success. A failure that began before the last
// success tells nothing new.
func (g *Gateway) dialled(r *route, client oncrpc.Transport, tried time.Time, err error) {
	r.mu.Lock()
	before, late := r.failed, tried.Before(r.succeeded)
	switch {
	case err == nil:
		r.failed, r.succeeded = 0, time.Now()
	case !late:
		r.failed++
	}
	r.mu.Unlock()
	log := g.log.With("client", client.RemoteAddr())
	if r.program != 0 {
		log = log.With("program", r.program)
	}
	switch {
	case err == nil:
		atomic.AddUint64(&g.stats.Dials, 1)
		if before > 0 {
			log.Info("connected to the server again", "failed", before)
		}
	case before == 0 && !late:
		atomic.AddUint64(&g.stats.DialFailures, 1)
		log.Warn("cannot connect to the server; calls wait until that succeeds", "err", err)
	default:
		atomic.AddUint64(&g.stats.DialFailures, 1)
		log.Debug("cannot connect to the server", "failed", before, "err", err)
	}
}
