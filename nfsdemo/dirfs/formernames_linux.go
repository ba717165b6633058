package dirfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A record of the format before there were segments has the same head, and behind it: a byte of
// what it says, the key of a file, the key of a directory, and a name.
const (
	formerName   = 1 // the file was seen by the name
	formerNoName = 2 // the name is not its own any more
	formerGone   = 3

	formerMin = recordHead + 1 + 2*recordKey
)

// takeOver reads the names of the format before there were segments, and removes them.
func (s *names) takeOver() error {
	path := filepath.Join(s.dir, hintsFile)
	f, err := openStateFile(path, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	r := &reader{seg: &segment{file: f}, end: st.Size(), space: make([]byte, 256<<10)}
	for rec, _ := r.next(); rec != nil; rec, _ = r.next() {
		if len(rec) < formerMin {
			continue
		}
		k := keyAt(rec[recordHead+1:])
		in := hint{keyAt(rec[recordHead+1+recordKey:]), string(rec[formerMin:])}
		switch rec[recordHead] {
		case formerName:
			s.add(k, in)
		case formerNoName:
			s.remove(k, in)
		case formerGone:
			s.forget(k)
		}
	}
	if r.err != nil {
		return r.err
	}
	if r.damaged > 0 {
		s.logger.Error("names of files are damaged and left out: handles may cost a scan",
			"file", path, "bytes", r.damaged)
	}
	s.flush()
	s.mu.RLock()
	last, broken := s.segs[len(s.segs)-1].file, s.broken
	s.mu.RUnlock()
	if broken {
		return nil // there was no room; the next start tries again
	}
	if err := last.Sync(); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	return syncDir(s.dir)
}
