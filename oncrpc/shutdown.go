package oncrpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// closing is added to Server.inflight when the server ends.
const closing = 1 << 62

// ended counts a call out.
func (s *Server) ended() {
	if s.inflight.Add(-1) == closing {
		s.announceIdle()
	}
}

// announceIdle announces that the server has ended and nothing is left to wait for.
func (s *Server) announceIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.idle: // by now a call may have come only to be dropped
	default:
		close(s.idle)
	}
}

// Closed reports whether Shutdown or Close has been called.
func (s *Server) Closed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// Shutdown ends the server: no new connections, no new calls; it waits until the
// calls under way are answered and have left, or ctx ends, then closes the connections.
func (s *Server) Shutdown(ctx context.Context) error {
	s.init()
	s.mu.Lock()
	first := !s.closed
	s.closed = true
	s.mu.Unlock()
	if first && s.inflight.Add(closing) == closing {
		s.announceIdle()
	}
	for _, l := range keys(s, s.listeners) {
		(*l).Close()
	}
	var err error
	select {
	case <-s.idle:
	case <-ctx.Done():
		err = fmt.Errorf("oncrpc: shutdown with calls under way: %w", ctx.Err())
	}
	if err == nil {
		err = s.drain(ctx)
	}
	for _, c := range keys(s, s.conns) {
		c.Close()
	}
	s.workers.stop()
	return err
}

// Close ends the server without waiting.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Shutdown(ctx)
	return nil
}

// drain ends the connections that can do so without losing replies.
func (s *Server) drain(ctx context.Context) error {
	conns := keys(s, s.conns)
	for _, c := range conns {
		if c.drain != nil {
			c.drain()
		}
	}
	for _, c := range conns {
		if c.drain == nil {
			continue
		}
		select {
		case <-c.Done():
		case <-ctx.Done():
			return fmt.Errorf("oncrpc: shutdown with replies under way: %w", ctx.Err())
		}
	}
	return nil
}

// keys returns the members of one of the server's sets.
func keys[K comparable](s *Server, set map[K]struct{}) []K {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(set))
}
