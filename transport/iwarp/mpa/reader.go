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
	// readSize is about how much one read takes: few system calls, and small enough to stay in the
	// cache until it has been placed.
	readSize   = 256 << 10
	readLittle = 16 << 10 // for a sink that may not take it
	// readBulk is as comes where somebody transfers something: there the window shall be wide.
	readBulk = 32 << 10
	// readFew is where large segments are read to their place: the header of one, and small ones
	// before.
	readFew    = 8 << 10
	bufferSize = readSize + maxMarked // of which a part of an FPDU may be there already

	// maxKept is how many connections of the process may keep a buffer while they wait for the rest
	// of an FPDU. Others move what they have to less memory, with room for as much again, but at
	// least leastRoom: what comes little by little is moved only when it has doubled. Peers that
	// stop in the middle hold no more than four times the memory of what they have sent, or 1 KiB.
	maxKept   = 64
	leastRoom = 512
)

type buffer [bufferSize]byte

var (
	buffers = sync.Pool{New: func() any { return new(buffer) }}
	kept    atomic.Int32
)

// reader is the receiving half of a Conn. It has memory only while there is something in it: a
// buffer, or less.
//
// Up to held comes what a short message touches; see Conn.
type reader struct {
	c    *Conn
	sys  input
	sink ddp.Sink
	buf  []byte // a whole buffer, or a smaller piece of memory
	n    int    // bytes in it, the beginning of an FPDU

	crc     bool
	markers bool
	places  bool // payload can be read to its place
	aside   bool // direct has an FPDU that is not in the buffer
	kept    bool // the buffer is one of maxKept
	wide    bool // the receive window
	many    bool // more comes than readFew at a time, all of which goes by way of the buffer
	armed   bool // the stall watch has set a deadline
	taps    bool // there is a Conn.tap

	fpdus int    // complete ones, ever
	held  []byte // a segment ahead of what is in the buffer, which the sink could not take

	direct direct
	pos    int // in the stream, of what comes first in the buffer; where there are markers
	ahead  int // bytes that were read while a segment was held
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
// their size. That is no more than readLittle, unless the sink was ready when it was read, and is
// not any more.
func (r *reader) hold(segment, behind []byte) {
	r.held = append([]byte(nil), segment...)
	r.watch.held = time.Now()
	r.keep(behind)
	r.shrink(0)
}

// resume goes on with the segment that is held.
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

// room returns the memory behind what is there, n bytes or more.
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
	case r.pending() == 0: // a marker, with which the peer may stay silent for as long as it likes
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

// shrink moves what is there to memory of its size and room for more, and gives the buffer back. It
// leaves memory that is less than a buffer, and not half of it unused then.
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

// release lets go of what there is, and gives the buffer back.
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

// pending is the number of bytes of an incomplete FPDU. A marker alone is none: some may send it
// ahead of the FPDU that it belongs to.
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

// keep moves the beginning of the next FPDU to the front.
func (r *reader) keep(b []byte) {
	r.n = copy(r.buf, b)
	r.arm()
}
