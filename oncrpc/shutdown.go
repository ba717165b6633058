package oncrpc

import (
	"context"
	"fmt"
	"maps"
	"slices"
)

// closing is added to Server.inflight when the server shuts down.
const closing = 1 << 62

// ended notes that a call has ended.
func (s *Server) ended() {
	if s.inflight.Add(-1) == closing {
		s.announceIdle()
	}
}

// announceIdle announces that the server is closed and no calls are pending.
func (s *Server) announceIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.idle: // again, after a call that arrived only to be dropped
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

// Shutdown ends the server. It stops accepting connections and calls, waits until all pending calls
// are answered and their replies sent, then closes the connections. If ctx ends first, Shutdown
// closes the connections at once and returns an error that wraps that of ctx.
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

// Close ends the server without waiting for pending calls.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Shutdown(ctx)
	return nil
}

// drain ends the connections that support it without losing replies.
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

// keys returns a snapshot of one of the server's sets.
func keys[K comparable](s *Server, set map[K]struct{}) []K {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(set))
}
