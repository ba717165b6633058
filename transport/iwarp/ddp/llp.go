package ddp

import (
	"errors"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// LLP is the lower layer protocol of one DDP stream: MPA over TCP, or SCTP. It keeps the boundaries of segments
// and delivers each of them once, whole (RFC 5041 section 2, RFC 5044 section 3).
//
// It sends in batches: Append puts segments together, Flush and Wait send them. The caller sees to it that Append, Flush,
// Detach and Cut do not overlap, that only Append and Detach are called while Wait waits, and that nothing but Interrupt
// is called beside Close. Receive and what concerns sending may overlap.
type LLP interface {
	// MaxSegment is the most bytes of a segment, its header included (MULPDU).
	MaxSegment() int

	// Receive waits for bytes of the peer, reads once, and hands the segments that are complete now to sink. It
	// returns the error of the sink as it is. io.EOF says that the peer has closed, io.ErrUnexpectedEOF that it
	// did so in the middle of a segment.
	Receive(sink Sink) error

	// Append adds a segment to the batch: a header and the next n bytes of p. The header is copied. The payload may be referred to until the
	// batch is empty, or Detach; owner names it to Detach, 0 being nobody. The memory of an owner may change meanwhile. It reports false, and does nothing, when the batch is full.
	Append(header []byte, p *Payload, n int, owner transport.STag) bool

	// Flush sends what the network takes without waiting, and reports whether the batch is empty now. The memory that an
	// empty batch referred to is the caller's again.
	Flush() (empty bool, err error)

	// Wait waits until the network takes more of the batch, and sends it. It holds l while it touches the batch, but not
	// while it waits.
	Wait(l sync.Locker) (empty bool, err error)

	// Detach copies what the batch refers to under the name owner.
	Detach(owner transport.STag)

	// Cut drops the segments of the batch of which nothing has been sent. What is left, the rest of one, is copied; or dropped
	// too, where the peer does not want it any more.
	Cut(peerGone bool)

	// Interrupt ends Receive and Wait, now and for good: they fail with os.ErrDeadlineExceeded.
	Interrupt()

	// Close closes the connection. When orderly it first sends the batch, says that nothing more will come, and waits for the peer to
	// do the same, so that it can read what was sent: if all that is done within a few seconds. Otherwise it resets the connection.
	Close(orderly bool)
}

// Sink takes segments.
type Sink interface {
	// Segment takes one segment, whose bytes are valid during the call only. ErrHold asks the LLP to keep it: the
	// next Receive begins with it, and waits for nothing.
	Segment(segment []byte) error
}

// ErrHold is what a Sink returns that cannot take a segment yet.
var ErrHold = errors.New("segment held")

// Holder is a Sink that may return ErrHold.
type Holder interface {
	Sink
	// Ready reports whether it is certain not to, for now. If it is not, the LLP reads little at a time, so that there
	// is not much to keep.
	Ready() bool
}

// Payload is a scatter list that is used up from the front.
type Payload struct {
	List []transport.Slice
	Skip int // bytes of List[0] that are used up
}

// Next returns the next run of at most n contiguous bytes, n being no more than what is left and above 0.
func (p *Payload) Next(n int) []byte {
	for {
		b := p.List[0].Bytes[p.Skip:]
		if len(b) > n {
			p.Skip += n
			return b[:n:n]
		}
		p.List, p.Skip = p.List[1:], 0
		if len(b) > 0 {
			return b
		}
	}
}
