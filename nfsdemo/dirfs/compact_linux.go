package dirfs

import (
	"os"
	"time"
)

// compactStep is how many records are copied while the lock is held.
const compactStep = 64

// compactPause is the pause before another attempt to rewrite the log.
const compactPause = time.Minute

// tidy starts to rewrite the log: after damage, if more records are obsolete than valid, or if
// there are too many files. It begins a new segment, to which compact copies the others. mu is
// held.
func (s *names) tidy() {
	if s.busy || time.Now().Before(s.again) {
		return
	}
	over := len(s.index) > s.most
	if over || s.damaged || s.records > 2*len(s.index)+garbage {
		s.damaged = false
		s.flushLocked()
		if err := s.begin(); err != nil {
			s.again = time.Now().Add(compactPause)
			s.logger.Error("the log of names cannot be written anew", "err", err)
			return
		}
	}
	if over {
		s.surplus = len(s.index) - s.most/4*3
		s.logger.Warn("too many files to keep the names of all: the handles of those that were not "+
			"seen for the longest time may cost a scan", "files", len(s.index), "dropped", s.surplus)
	}
	if len(s.segs) > 1 {
		s.busy = true
		s.done.Go(s.compact)
	}
}

// compact copies the valid records of all older segments to the last, and removes the older ones.
// It works for at most half of the time.
func (s *names) compact() {
	for {
		s.mu.Lock()
		if len(s.segs) == 1 {
			s.busy, s.surplus = false, 0
			s.mu.Unlock()
			return
		}
		first := s.segs[0]
		s.mu.Unlock()
		if !s.copy(first) || !s.retire(first) {
			s.mu.Lock()
			s.busy, s.again = false, time.Now().Add(compactPause)
			s.mu.Unlock()
			return
		}
	}
}

// copy copies the valid records of the first segment. It returns false if it was stopped; the
// segment stays.
func (s *names) copy(first *segment) bool {
	r := newReader(first)
	for began := time.Now(); s.copyStep(r); began = time.Now() {
		select {
		case <-s.stop:
			return false
		case <-time.After(time.Since(began)):
		}
	}
	if r.err != nil {
		s.logger.Error("the log of names cannot be read", "err", r.err)
	}
	return r.err == nil
}

// copyStep copies some records, and reports whether there are more.
func (s *names) copyStep(r *reader) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for range compactStep {
		rec, at := r.next()
		if rec == nil {
			return false
		}
		h := s.hash(rec.key())
		p, ok := s.index[h]
		if !ok || p.address() != at {
			continue // it is obsolete
		}
		if s.surplus > 0 {
			s.surplus--
			delete(s.index, h)
			continue
		}
		s.put(rec.key(), rec.names())
	}
	return true
}

// retire removes the first segment, whose records are all obsolete.
func (s *names) retire(first *segment) bool {
	s.mu.Lock()
	s.flushLocked()
	last := s.segs[len(s.segs)-1].file
	s.mu.Unlock()
	var err error
	if s.dir != "" {
		if err = last.Sync(); err == nil {
			err = syncDir(s.dir)
		}
	}
	if err != nil {
		s.logger.Error("the log of names cannot be synced", "err", err)
		return false
	}
	s.mu.Lock()
	s.segs = s.segs[1:]
	s.mu.Unlock()
	first.file.Close()
	if s.dir != "" {
		if err := os.Remove(first.file.Name()); err != nil {
			s.logger.Error("an old log of names stays", "err", err)
		}
	}
	return true
}
