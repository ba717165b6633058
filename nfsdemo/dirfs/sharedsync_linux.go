package dirfs

import "sync"

// sharedSync has callers that wait at the same time share a sync. Each gets the outcome of one that
// began after it had called, so that what it had changed is on stable storage.
type sharedSync struct {
	mu    sync.Mutex // guards what follows
	ended sync.Cond  // a sync has
	busy  bool       // a sync is under way
	next  *syncRound // which begins when that has ended; nil: nobody waits for it
}

// syncRound is a sync that several wait for.
type syncRound struct {
	over bool
	err  error
}

// do calls sync, or waits for a call by another.
func (s *sharedSync) do(sync func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.busy && s.next == nil {
		return s.run(sync)
	}
	s.ended.L = &s.mu
	r := s.next
	if r != nil {
		for !r.over {
			s.ended.Wait()
		}
		return r.err
	}
	r = new(syncRound)
	s.next = r
	for s.busy {
		s.ended.Wait()
	}
	s.next = nil // who comes from here on may have changed something that this sync misses
	r.err = s.run(sync)
	r.over = true
	return r.err
}

// run calls sync without the lock, which is held before and after.
func (s *sharedSync) run(sync func() error) error {
	s.busy = true
	s.mu.Unlock()
	err := sync()
	s.mu.Lock()
	s.busy = false
	s.ended.Broadcast()
	return err
}
