package recordmark

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// A record mark is the length of a fragment; its highest bit says that the fragment
// is the last of the record (RFC 5531 section 11).
const (
	markLen      = 4
	lastFragment = 1 << 31
)

// mpaMark is what a peer begins with that means to set up iWARP: "MPA " (RFC 5044 section 7.1).
const mpaMark = 0x4d504120

// readBuffer collects the small records of one read. Larger ones bypass it.
const readBuffer = 32 << 10

// growStep is how much memory a peer gets for announcing a fragment. Beyond it the peer
// gets as much again as it has sent, or what its largest record so far has used.
const growStep = 64 << 10

// maxEmpty is how many fragments of a record may be empty. Every one costs its peer next to
// nothing.
const maxEmpty = 1024

// reader takes a stream of bytes apart into records.
type reader struct {
	r   *bufio.Reader
	max int // bytes in a record
	// is asked before a record grows beyond growStep, to n bytes at most
	reserve func(*record, int) error
	largest int  // record so far
	inside  bool // a record has begun
	mark    [markLen]byte
}

func newReader(r io.Reader, max int) reader {
	return reader{r: bufio.NewReaderSize(r, readBuffer), max: max}
}

// next returns the next record, for the caller to release. The error is io.EOF if
// the stream ends between two records.
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
			return nil, r.fail(rec, fmt.Errorf("%w: a fragment of %d bytes behind %d, %d allowed",
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

// fill appends n bytes of the stream to rec, which will have most bytes at most.
func (r *reader) fill(rec *record, n, most int) (*record, error) {
	for n > 0 {
		have := len(rec.data)
		step := min(n, max(growStep, have, r.largest-have))
		if have+step > growStep && rec.share == nil && r.reserve != nil {
			// Once and for all of it: who has some and waits for more stands in the way of
			// others that do.
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
