package dirfs

import (
	"log/slog"
	"os"
	"sync"
)

// hintLog keeps the hints of a table in a file, in the order in which they came. A hint is written
// before a client gets the handle. What the file lacks in spite of that, after a crash of the host,
// costs a scan. A nil *hintLog keeps nothing.
type hintLog struct {
	logger *slog.Logger
	path   string

	mu      sync.Mutex // guards what follows; taken behind table.mu
	file    *os.File
	size    int64 // bytes of whole records
	limit   int64 // beyond which it is written anew
	pending []byte
	broken  bool // an error was logged
}

// add appends a record to those that flush writes.
func (l *hintLog) add(r record, k key, in hint) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = appendRecord(l.pending, r, k, in)
}

// flush writes what was added.
func (l *hintLog) flush() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.pending) == 0 {
		return
	}
	_, err := l.file.WriteAt(l.pending, l.size)
	if err == nil {
		l.size += int64(len(l.pending))
	} else {
		// The next record takes the place of this one, so that the log stays whole. What cannot be
		// cut off does no harm: it was so when it was written.
		_ = l.file.Truncate(l.size)
	}
	if err != nil && !l.broken {
		l.broken = true
		l.logger.Error("names of files cannot be kept: handles may cost a scan after a restart",
			"err", err)
	}
	l.pending = l.pending[:0]
}

// full reports whether it is time to write the log anew.
func (l *hintLog) full() bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.size > l.limit
}

func (l *hintLog) close() error {
	if l == nil {
		return nil
	}
	l.flush()
	return l.file.Close()
}

// load reads the records of b into the table, as far as they are whole.
func (t *table) load(b []byte) {
	for {
		r, k, in, n := parseRecord(b)
		if n == 0 {
			return
		}
		b = b[n:]
		switch r {
		case recordName:
			t.enterLocked(t.addLocked(k, t.sealer.mac(k)), in)
		case recordNoName:
			if n := t.nodes[k]; n != nil {
				t.leaveLocked(n, in)
			}
		case recordGone:
			delete(t.nodes, k)
		}
	}
}

// keep flushes the log, and writes it anew when most of it is of the past.
func (t *table) keep() {
	t.log.flush()
	if !t.log.full() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.log
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size <= l.limit {
		return
	}
	if err := l.rewrite(t); err != nil {
		l.limit *= 2
		l.logger.Error("the log of names cannot be written anew", "err", err)
	}
}

// rewrite puts a file with nothing but what t says into the place of the log; t.mu and
// l.mu are held.
func (l *hintLog) rewrite(t *table) error {
	var b []byte
	for k, n := range t.nodes {
		for _, in := range n.hints {
			b = appendRecord(b, recordName, k, in)
		}
	}
	f, err := replace(l.path, b)
	if err != nil {
		return err
	}
	if l.file != nil {
		l.file.Close()
	}
	l.file, l.size, l.pending = f, int64(len(b)), l.pending[:0]
	l.limit = 2*l.size + 1<<20
	return nil
}
