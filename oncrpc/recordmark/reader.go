package recordmark

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A record mark is the length of a fragment. Its highest bit marks the last fragment of a record
// (RFC 5531 section 11).
const (
	markLen      = 4
	lastFragment = 1 << 31
)

// mpaMark is what a peer that sets up iWARP sends first: "MPA " (RFC 5044 section 7.1).
const mpaMark = 0x4d504120

// readBuffer is the size in bytes of the buffer for small records. Larger ones bypass it.
const readBuffer = 32 << 10

// growStep is the memory in bytes that a peer gets for announcing a fragment. Beyond it, a record
// gets as much again as has arrived, or as much as the largest record so far.
const growStep = 64 << 10

// maxEmpty is the limit on empty fragments in a record. They cost the peer next to nothing.
const maxEmpty = 1024

// reader splits a stream of bytes into records.
type reader struct {
	r   *bufio.Reader
	max int // maximum length of a record in bytes
	// reserve is called before a record grows beyond growStep, with its maximum final length
	reserve func(*record, int) error
	largest int  // length of the largest record so far
	inside  bool // whether a record has begun
	mark    [markLen]byte
}

func newReader(r io.Reader, max int) reader {
	return reader{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// next returns the next record, which the caller must release. The error is io.EOF if the stream
// ends between two records.
func (r *reader) next() (*record, error) {
	var rec *record
	empty := 0
	r.inside = false
	for {
		if _, err := io.ReadFull(r.r, r.mark[:]); err != nil {
			return nil, r.fail(rec, err)
		}
		mark := binary.BigEndian.Uint32(r.mark[:])
		n := int(mark &^ lastFragment)
		r.inside = true
		if rec == nil {
			rec = newRecord(min(n, growStep))
		}
		if mark == mpaMark && n > r.max {
			return nil, r.fail(rec, errMPA)
		}
		if n > r.max-len(rec.data) {
			return nil, r.fail(rec, fmt.Errorf("%w: a fragment of %d bytes after %d, %d allowed",
				ErrRecordTooLong, n, len(rec.data), r.max))
		}
		if n == 0 {
			if empty++; empty > maxEmpty {
				return nil, r.fail(rec, ErrEmptyFragments)
			}
		}
		most := r.max
		if mark&lastFragment != 0 {
			most = len(rec.data) + n
		}
		var err error
		if rec, err = r.fill(rec, n, most); err != nil {
			return nil, r.fail(rec, err)
		}
		if mark&lastFragment != 0 {
			r.largest = max(r.largest, len(rec.data))
			return rec, nil
		}
	}
}

// fill appends n bytes of the stream to rec, whose final length is at most most.
func (r *reader) fill(rec *record, n, most int) (*record, error) {
	for n > 0 {
		have := len(rec.data)
		step := min(n, max(growStep, have, r.largest-have))
		if have+step > growStep && rec.share == nil && r.reserve != nil {
			// Reserve the whole record at once: a record that holds some memory and waits for more
			// blocks others.
			if err := r.reserve(rec, most); err != nil {
				return rec, err
			}
		}
		rec = rec.grow(have + step)
		read, err := io.ReadFull(r.r, rec.data[have:have+step])
		rec.data = rec.data[:have+read]
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return rec, err
		}
		n -= step
	}
	return rec, nil
}

func (r *reader) fail(rec *record, err error) error {
	if rec == nil {
		return err
	}
	rec.Release()
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}
