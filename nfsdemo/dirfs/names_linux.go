package dirfs

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// defaultMaxNames bounds the files whose names are kept. Each takes 20 to 40 bytes of memory.
	defaultMaxNames = 16 << 20
	// garbage is how many obsolete records are always tolerated, besides as many as are valid.
	garbage = 16 << 10
	// maxPending bounds the bytes of records that are not written yet.
	maxPending = 64 << 10
)

// names keeps the names of files in a log. Memory has the place of each file's record. While the
// log is rewritten it has several segments: valid records of older ones are copied to the newest in
// the background, and then the older ones are removed. Without a state directory the log is an
// unnamed file.
//
// Names are written before a client gets the handle, but not synced. If a crash of the host loses
// some, the files are found by a scan.
type names struct {
	logger *slog.Logger
	dir    string
	most   int // files

	stop chan struct{} // closed by close
	done sync.WaitGroup

	mu      sync.RWMutex // guards what follows
	seed    maphash.Seed
	index   map[uint64]place // by the hash of a key
	segs    []*segment       // the oldest first; records are added to the last
	pending []byte           // to be written to the last segment
	records int              // in the last segment
	surplus int              // how many of the oldest files are to be dropped
	busy    bool             // compact is running
	again   time.Time        // when compact may run again
	broken  bool             // an error was logged
	damaged bool             // a segment has bytes that are not records
}

// place is the address of a record. The lower bits are a hash of its first name.
type place uint64

const (
	checkBits = 16
	// maxAddress bounds the bytes that are ever written to the log.
	maxAddress = 1<<(64-checkBits) - 1
)

func (s *names) place(at int64, names []hint) place {
	return place(at)<<checkBits | place(s.check(names[len(names)-1]))
}

func (p place) address() int64 { return int64(p >> checkBits) }

func (s *names) check(in hint) uint16 { return uint16(maphash.Comparable(s.seed, in)) }

func (s *names) hash(k key) uint64 { return maphash.Comparable(s.seed, k) }

// openNames reads the log in a directory, or begins one.
func openNames(dir string, most int, logger *slog.Logger) (*names, error) {
	s := &names{logger: logger, dir: dir, most: most, stop: make(chan struct{}),
		seed: maphash.MakeSeed(), index: make(map[uint64]place)}
	var err error
	if dir != "" {
		if s.segs, err = openSegments(dir); err != nil {
			return nil, err
		}
	}
	for _, seg := range s.segs {
		if err := s.load(seg); err != nil {
			closeSegments(s.segs)
			return nil, err
		}
	}
	if len(s.segs) == 0 {
		if err := s.begin(); err != nil {
			return nil, err
		}
	}
	if dir != "" {
		if err := s.takeOver(); err != nil {
			_ = s.close()
			return nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tidy()
	return s, nil
}

// hasNames reports whether there is a log of names in a directory.
func hasNames(dir string) bool {
	if dir == "" {
		return false
	}
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool {
		return e.Name() == hintsFile || strings.HasPrefix(e.Name(), segmentPrefix)
	})
}

// load reads a segment. What is no record, since a disk has failed or the host has crashed, is
// skipped.
func (s *names) load(seg *segment) error {
	s.records = 0
	r := newReader(seg)
	for rec, at := r.next(); rec != nil; rec, at = r.next() {
		s.records++
		if rec.empty() {
			delete(s.index, s.hash(rec.key()))
		} else if names := rec.names(); len(names) > 0 {
			s.index[s.hash(rec.key())] = s.place(at, names)
		}
	}
	s.damaged = s.damaged || r.damaged > 0 || seg.size < int64(len(segmentMagic))
	if r.damaged > 0 {
		s.logger.Error("names of files are damaged and left out: handles may cost a scan",
			"file", seg.file.Name(), "bytes", r.damaged)
	}
	return r.err
}

// begin begins a segment. mu is held, or s is not in use yet.
func (s *names) begin() error {
	number, base := 1, int64(0)
	if n := len(s.segs); n > 0 {
		number, base = s.segs[n-1].number+1, s.segs[n-1].end()
	}
	seg, err := newSegment(s.dir, number, base)
	if err != nil {
		return err
	}
	s.segs, s.records = append(s.segs, seg), 0
	return nil
}

// of returns the names of a file, the best one first.
func (s *names) of(k key) []hint {
	s.mu.RLock()
	defer s.mu.RUnlock()
	names := s.ofLocked(k)
	slices.Reverse(names)
	return names
}

func (s *names) ofLocked(k key) []hint {
	p, ok := s.index[s.hash(k)]
	if !ok {
		return nil
	}
	var buf [256]byte
	rec, err := s.read(p.address(), buf[:])
	if err != nil {
		s.logger.Error("names of a file cannot be read: its handle may cost a scan", "err", err)
		return nil
	}
	if rec.key() != k {
		return nil // another file with the same hash
	}
	return rec.names()
}

// read returns the record at an address. It uses b if that is large enough.
func (s *names) read(at int64, b []byte) (record, error) {
	last := s.segs[len(s.segs)-1]
	if at >= last.end() {
		return whole(recordAt(s.pending[at-last.end():]))
	}
	seg := last
	for i := len(s.segs) - 1; at < seg.base; i-- {
		if i == 0 {
			return nil, errDamaged
		}
		seg = s.segs[i-1]
	}
	for {
		n, err := seg.file.ReadAt(b[:min(int64(len(b)), seg.end()-at)], at-seg.base)
		if err != nil && err != io.EOF {
			return nil, err
		}
		if rec := recordAt(b[:n]); rec != nil || recordLen(b[:n]) <= n {
			return whole(rec)
		}
		b = make([]byte, recordMax)
	}
}

var errDamaged = errors.New("the record is damaged")

func whole(r record) (record, error) {
	if r == nil {
		return nil, errDamaged
	}
	return r, nil
}

// has reports whether a file has names.
func (s *names) has(k key) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, ok := s.index[s.hash(k)]
	return ok
}

// newest reports whether a name is the last one added for a file. It compares hashes, so it is very
// rarely wrong.
func (s *names) newest(k key, in hint) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, ok := s.index[s.hash(k)]
	return ok && uint16(p) == s.check(in)
}

// add adds a name of a file.
func (s *names) add(k key, in hint) {
	if s.newest(k, in) || len(in.name) > MaxName {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	had := s.ofLocked(k)
	if slices.Contains(had, in) {
		return
	}
	if len(had) == maxHints {
		had = had[1:]
	}
	s.put(k, append(had, in))
}

// remove records that a file no longer has a name.
func (s *names) remove(k key, in hint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	had := s.ofLocked(k)
	if i := slices.Index(had, in); i >= 0 {
		s.put(k, slices.Delete(had, i, i+1))
	}
}

// forget records that a file is gone.
func (s *names) forget(k key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.index[s.hash(k)]; ok {
		s.put(k, nil)
	}
}

// put adds a record with the names of a file. mu is held.
func (s *names) put(k key, names []hint) {
	at := s.segs[len(s.segs)-1].end() + int64(len(s.pending))
	if at > maxAddress-recordMax {
		return
	}
	s.pending = appendRecord(s.pending, k, names)
	s.records++
	if len(names) == 0 {
		delete(s.index, s.hash(k))
	} else {
		s.index[s.hash(k)] = s.place(at, names)
	}
	if len(s.pending) >= maxPending {
		s.flushLocked()
	}
}

// flush writes pending records.
func (s *names) flush() {
	s.mu.RLock()
	idle := len(s.pending) == 0
	s.mu.RUnlock()
	if idle {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
	s.tidy()
}

func (s *names) flushLocked() {
	last := s.segs[len(s.segs)-1]
	_, err := last.file.WriteAt(s.pending, last.size)
	if err == nil {
		last.size += int64(len(s.pending))
		s.pending = s.pending[:0]
		return
	}
	// Cut the log here, so the next records follow without a gap. If that fails, the rest does no
	// harm: its records were true when they were written.
	_ = last.file.Truncate(last.size)
	for b := s.pending; len(b) > 0; {
		rec := recordAt(b)
		h := s.hash(rec.key())
		if s.index[h].address() == last.end()+int64(len(s.pending)-len(b)) {
			delete(s.index, h)
		}
		b = b[len(rec):]
	}
	s.pending = s.pending[:0]
	if !s.broken {
		s.broken = true
		s.logger.Error("names of files cannot be kept: their handles may cost a scan", "err", err)
	}
}

// close writes pending records and closes the log.
func (s *names) close() error {
	close(s.stop)
	s.done.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
	var err error
	for _, seg := range s.segs {
		err = errors.Join(err, seg.file.Close())
	}
	if err != nil {
		return fmt.Errorf("names: %w", err)
	}
	return nil
}
