package nfsserver

import (
	"context"
	"fmt"
	"sync"
)

// check asks a file system for its root, one request at a time: a file system that hangs holds up a
// single goroutine.
type check struct {
	mu   sync.Mutex    // guards what follows
	over chan struct{} // closed when the request under way ends; nil: there is none
	err  error         // result of the latest request
}

// Check checks that all exports can be served. It returns an error if the root of one cannot be
// read, or if its file system does not answer before ctx ends, for example because a disk hangs.
func (s *Server) Check(ctx context.Context) error {
	for _, e := range s.table.Load().list {
		if err := s.check(ctx, e); err != nil {
			return fmt.Errorf("export %s: %w", e.Path, err)
		}
	}
	return nil
}

func (s *Server) check(ctx context.Context, e *export) error {
	c := &e.check
	c.mu.Lock()
	if c.over == nil {
		over := make(chan struct{})
		c.over = over
		go func() {
			err := s.look(context.WithoutCancel(ctx), e)
			c.mu.Lock()
			c.over, c.err = nil, err
			c.mu.Unlock()
			close(over)
		}()
	}
	over := c.over
	c.mu.Unlock()
	select {
	case <-over:
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.err
	case <-ctx.Done():
		return fmt.Errorf("its file system does not answer: %w", ctx.Err())
	}
}
