package dirfs

import (
	"encoding/binary"
	"hash/crc32"
	"log/slog"
	"os"
	"sync"
)

// record is what a record of the log says.
type record byte

// The records: of the file, or of its name.
const (
	recordName   record = 1 // it was seen by the name
	recordNoName record = 2 // the name is not its own any more
	recordGone   record = 3
)

// Each record has a checksum of what follows, the length of what follows, and then: what it
// says, the key of the file, the key of the directory, and the name.
const (
	recordHead = 4 + 2
	recordKeys = 1 + 4*8
	recordMax  = recordKeys + 255
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// hintLog keeps the hints of a table in a file, in the order in which they came. A hint is
// written before a client gets the handle. What the file lacks in spite of that, after a crash of the host, costs
// a scan. A nil *hintLog keeps nothing.
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

func appendRecord(b []byte, r record, k key, in hint) []byte {
	at := len(b)
	b = append(b, make([]byte, recordHead)...)
	b = append(b, byte(r))
	for _, v := range [...]uint64{k.ino, k.gen, in.parent.ino, in.parent.gen} {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	b = append(b, in.name...)
	binary.LittleEndian.PutUint16(b[at+4:], uint16(len(b)-at-recordHead))
	binary.LittleEndian.PutUint32(b[at:], crc32.Checksum(b[at+4:], castagnoli))
	return b
}

// parseRecord returns the first record of b and its length, 0 if b does not begin with a whole one.
func parseRecord(b []byte) (r record, k key, in hint, n int) {
	if len(b) < recordHead+recordKeys {
		return
	}
	n = recordHead + int(binary.LittleEndian.Uint16(b[4:]))
	if n < recordHead+recordKeys || n > recordHead+recordMax || n > len(b) ||
		binary.LittleEndian.Uint32(b) != crc32.Checksum(b[4:n], castagnoli) {
		return 0, key{}, hint{}, 0
	}
	b = b[recordHead:n]
	u := func(i int) uint64 { return binary.LittleEndian.Uint64(b[1+8*i:]) }
	return record(b[0]), key{u(0), u(1)}, hint{key{u(2), u(3)}, string(b[recordKeys:])}, n
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
	if _, err := l.file.WriteAt(l.pending, l.size); err == nil {
		l.size += int64(len(l.pending))
	} else if !l.broken {
		// The next record takes the place of this one, so that the log stays whole.
		l.broken = true
		l.logger.Error("names of files cannot be kept: handles may cost a scan after a restart", "err", err)
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
func (t *table) load(b []byte, s *sealer, id uint64) {
	for {
		r, k, in, n := parseRecord(b)
		if n == 0 {
			return
		}
		b = b[n:]
		switch r {
		case recordName:
			t.enterLocked(t.addLocked(k, s.mac(id, k)), in)
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
