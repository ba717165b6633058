package mpa

import (
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

const (
	// readSize is about how much one read takes: few system calls, but small enough to stay in the
	// cache until it has been placed.
	readSize   = 256 << 10
	readLittle = 16 << 10 // if the sink may return ErrHold
	// readBulk: if one read brings so much, this is a bulk transfer, and the receive window is
	// widened.
	readBulk = 32 << 10
	// readFew is the size of a read if large segments are read into place: the header of one, and
	// small segments before it.
	readFew    = 8 << 10
	bufferSize = readSize + maxMarked // maxMarked: a part of an FPDU may be there already

	// maxKept is how many connections of the process may keep a whole buffer while they wait for
	// the rest of an FPDU. The others move what they have to a smaller one, of twice its size, or
	// leastRoom more. Bytes that trickle in are moved again only when they have doubled. So a peer
	// that stops in the middle holds at most four times the memory of what it has sent, or 1 KiB.
	maxKept   = 64
	leastRoom = 512
)

type buffer [bufferSize]byte

var (
	buffers = sync.Pool{New: func() any { return new(buffer) }}
	kept    atomic.Int32
)

// reader is the receiving half of a Conn. It has memory only while there is something in it: a
// whole buffer, or less.
//
// A short message touches only the fields up to held; see Conn.
type reader struct {
	c    *Conn
	sys  input
	sink ddp.Sink
	buf  []byte // a whole buffer, or a smaller one
	n    int    // bytes in buf: the beginning of an FPDU

	crc     bool
	markers bool
	places  bool // payload can be read into place
	aside   bool // an FPDU is in direct, not in the buffer
	kept    bool // buf is one of maxKept
	wide    bool // the receive window was widened
	many    bool // reads bring more than readFew, and all of it went through the buffer
	armed   bool // the stall watch has set a deadline
	taps    bool // there is a Conn.tap

	fpdus int    // complete ones, ever
	held  []byte // a segment that the sink could not take; it comes before those in the buffer

	direct direct
	pos    int // position in the stream of the buffer's beginning; with markers only
	ahead  int // bytes read while a segment was held
	watch  stallWatch
}

func (r *reader) receive(sink ddp.Sink) error {
	if r.held != nil {
		return r.resume(sink)
	}
	r.sink = sink
	n, err := r.sys.read()
	switch {
	case err != nil && isTimeout(err) && !r.c.isInterrupted():
		return r.expired()
	case err != nil:
		return err
	case n == 0 && r.pending() > 0:
		return io.ErrUnexpectedEOF
	case n == 0:
		return io.EOF
	}
	r.c.received.Add(uint64(n))
	if n >= readBulk && !r.wide {
		r.wide = true
		r.sys.widen()
	}
	if r.aside {
		if n, err = r.arrived(n); err != nil {
			return err
		}
	}
	r.n += n
	return r.parseAny(sink)
}

func (r *reader) parseAny(sink ddp.Sink) error {
	if r.markers {
		return r.parseMarked(sink)
	}
	return r.parse(sink)
}

// hold keeps a segment that the sink could not take, and what was read behind it, in memory of
// exactly that size. This is at most readLittle, unless the sink was ready when it was read and is
// not any more.
func (r *reader) hold(segment, behind []byte) {
	r.held = append([]byte(nil), segment...)
	r.watch.held = time.Now()
	r.keep(behind)
	r.shrink(0)
}

// resume offers the held segment again.
func (r *reader) resume(sink ddp.Sink) error {
	if err := sink.Segment(r.held); err != nil {
		return err
	}
	r.watch.taken(r.ahead == plainFew)
	r.held, r.ahead = nil, 0
	if r.n == 0 {
		r.arm()
		return nil
	}
	return r.parseAny(sink)
}

// space returns where to read to.
func (r *reader) space() []byte {
	p := r.room(1)
	if r.placing() && !r.many {
		return p[:min(len(p), readFew)]
	}
	if !r.sink.Ready() {
		return p[:min(len(p), readLittle)]
	}
	return p
}

// room returns the free memory behind the bytes in buf: n bytes or more.
func (r *reader) room(n int) []byte {
	if len(r.buf)-r.n < n {
		b := buffers.Get().(*buffer)
		copy(b[:], r.buf[:r.n])
		r.buf = b[:]
	}
	return r.buf[r.n:]
}

// idle is called when there is nothing to read.
func (r *reader) idle() {
	switch {
	case r.n == 0:
		r.release()
	case r.pending() == 0: // a marker alone, after which the peer may pause for any time
		r.shrink(0)
	case r.kept:
	case r.whole() && kept.Add(1) <= maxKept:
		r.kept = true
	default:
		if r.whole() {
			kept.Add(-1)
		}
		r.shrink(max(r.n, leastRoom))
	}
}

// whole reports whether there is a whole buffer.
func (r *reader) whole() bool { return len(r.buf) == bufferSize }

// shrink moves the bytes in buf to memory of their size plus room, and returns a whole buffer to
// the pool. It does nothing to a smaller buffer that is at least half used then.
func (r *reader) shrink(room int) {
	if !r.whole() && 2*(r.n+room) > len(r.buf) {
		return
	}
	var less []byte
	if r.n > 0 {
		less = make([]byte, r.n+room)
	}
	n := copy(less, r.buf[:r.n])
	r.release()
	r.buf, r.n = less, n
}

// release drops the bytes in buf, and returns a whole buffer to the pool.
func (r *reader) release() {
	if r.kept {
		r.kept = false
		kept.Add(-1)
	}
	if r.whole() {
		buffers.Put((*buffer)(r.buf))
	}
	r.buf, r.n = nil, 0
}

// pending returns the number of bytes of an incomplete FPDU. A marker alone does not count: a peer
// may send it before its FPDU.
func (r *reader) pending() int {
	n := r.n
	if r.aside {
		n += r.direct.come()
	}
	if n == markerSize && r.markers && toMarker(r.pos) == 0 {
		return 0
	}
	return n
}

// parse hands the ULPDUs in the buffer to the sink.
func (r *reader) parse(sink ddp.Sink) error {
	b := r.buf[:r.n]
	for len(b) >= lengthSize {
		n := int(binary.BigEndian.Uint16(b))
		if n < ddp.TaggedLen {
			return ErrLength
		}
		size := fpduSize(n)
		if len(b) < size {
			break
		}
		if r.crc && !crcHolds(b[:size]) {
			return ErrCRC
		}
		r.fpdus++
		segment := b[lengthSize : lengthSize+n]
		b = b[size:]
		if err := sink.Segment(segment); err != nil {
			if err == ddp.ErrHold {
				r.hold(segment, b)
			}
			return err
		}
	}
	r.keep(b)
	return nil
}

// keep moves the beginning of the next FPDU to the front of buf.
func (r *reader) keep(b []byte) {
	r.n = copy(r.buf, b)
	r.arm()
}
