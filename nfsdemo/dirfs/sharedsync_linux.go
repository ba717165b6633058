package dirfs

import "sync"

// sharedSync lets callers that wait at the same time share a sync. Each gets the result of a sync
// that began after its call, so its changes are on stable storage.
type sharedSync struct {
	mu    sync.Mutex // guards what follows
	ended sync.Cond  // signals that a sync has ended
	busy  bool       // a sync is under way
	next  *syncRound // begins when that has ended; nil: nobody waits for it
}

// syncRound is a sync that several callers wait for.
type syncRound struct {
	over bool
	err  error
}

// do calls sync, or waits for a call of somebody else.
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
	s.next = nil // this sync may miss the changes of later callers
	r.err = s.run(sync)
	r.over = true
	return r.err
}

// run calls sync without the lock, which the caller holds.
func (s *sharedSync) run(sync func() error) error {
	s.busy = true
	s.mu.Unlock()
	err := sync()
	s.mu.Lock()
	s.busy = false
	s.ended.Broadcast()
	return err
}
