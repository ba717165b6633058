package ddp

import (
	"errors"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// LLP is the lower layer protocol of one DDP stream: MPA over TCP, or SCTP. It keeps the boundaries
// of segments and delivers each of them once, whole (RFC 5041 section 2, RFC 5044 section 3).
//
// It sends in batches: Append puts segments together, Flush and Wait send them. The caller sees to
// it that Append, Flush, Detach and Cut do not overlap, that only Append and Detach are called
// while Wait waits, and that nothing but Interrupt is called beside Close. Receive and what
// concerns sending may overlap. Traffic may be called at any time.
type LLP interface {
	// MaxSegment is the most bytes of a segment, its header included (MULPDU).
	MaxSegment() int

	// Receive waits for bytes of the peer, reads once, and hands the segments that are complete now
	// to sink. It returns the error of the sink as it is. Of the others io.EOF says that the peer
	// has closed, io.ErrUnexpectedEOF that it did so in the middle of a segment, and ErrStalled
	// that it leaves one, or a message, incomplete; a *Fault is what the LLP finds wrong with what
	// has come.
	Receive(sink Sink) error

	// Hold waits, after Receive has returned ErrHold, until Resume or Interrupt. Meanwhile the peer
	// is held up, and nothing is incomplete by its fault. If it closes the connection Hold fails,
	// with io.EOF or what ended the connection, also while it has sent what was not read: as soon
	// as the LLP can know.
	Hold() error

	// Resume ends Hold, or has the next one return at once. It may be called at any time.
	Resume()

	// Append adds a segment to the batch: a header and the next n bytes of p. The header is copied.
	// The payload may be referred to until the batch is empty, or Detach; owner names it to Detach,
	// 0 being nobody. The memory of an owner may change meanwhile. It reports false, and does
	// nothing, when the batch is full.
	Append(header []byte, p *Payload, n int, owner transport.STag) bool

	// Flush sends what the network takes without waiting, and reports whether the batch is empty
	// now. The memory that an empty batch referred to is the caller's again.
	Flush() (empty bool, err error)

	// Wait waits until the network takes more of the batch, and sends it. It holds l while it
	// touches the batch, but not while it waits. ErrStalled says that the peer takes too little.
	Wait(l sync.Locker) (empty bool, err error)

	// Detach copies what the batch refers to under the name owner.
	Detach(owner transport.STag)

	// Cut drops the segments of the batch of which nothing has been sent. What is left, the rest of
	// one, is copied; or dropped too, where the peer does not want it any more.
	Cut(peerGone bool)

	// Interrupt ends Receive, Hold and Wait, now and for good. Receive and Wait fail with
	// os.ErrDeadlineExceeded.
	// Wait may be given a few seconds to see through what cannot be broken off without damage.
	Interrupt()

	// Close closes the connection. When orderly it first sends the batch, says that nothing more
	// will come, and waits for the peer to do the same, so that it can read what was sent: if all
	// that is done within a few seconds. Otherwise it resets the connection.
	Close(orderly bool)

	// Traffic returns the bytes that were sent and received since the setup.
	Traffic() (sent, received uint64)
}

// Sink takes segments. It also says where payload belongs, so that an LLP can have the system put
// it there while the segment is still on its way, and nobody copies it: Lend, Return and Placed. An
// LLP that cannot do so hands every segment to Segment.
type Sink interface {
	// Segment takes one segment, whose bytes are valid during the call only. ErrHold asks the LLP
	// to keep it: the next Receive begins with it, and waits for nothing.
	Segment(segment []byte) error

	// Unfinished names the message of which some segments have come, and the last has not, and
	// which holds what others may wait for; 0 means that there is none. A peer that leaves one
	// unfinished has stalled, unless it goes on with it. That shows in moved: the bytes of payload
	// that all such messages have brought, ever.
	Unfinished() (message uint64, moved int)

	// Ready reports whether Segment is certain not to return ErrHold, for now. If it is not, the
	// LLP reads little at a time, so that there is not much to keep.
	Ready() bool

	// ExpectsMore reports whether the peer's next bytes are likely to come very soon. It is asked
	// where there is nothing to read: an LLP may then look again for a few microseconds before it
	// sleeps, since to sleep, and to be woken, may take longer than the peer does.
	ExpectsMore() bool

	// Lend appends to dst the memory for the payload of a tagged segment, n bytes long, from byte
	// skip on. The memory may be filled until Return, which must not be far. It reports false, and
	// lends nothing, where the payload is not to be placed: if skip is 0, the segment goes to
	// Segment when it is whole; else the rest is dropped, and Placed called.
	Lend(dst [][]byte, header []byte, n, skip int) ([][]byte, bool)

	// Return ends the loan.
	Return()

	// Placed takes a segment whose payload, n bytes, has been placed.
	Placed(header []byte, n int) error
}

// What an LLP and a Sink tell each other by errors.
var (
	// ErrHold is what a Sink returns that cannot take a segment yet.
	ErrHold = errors.New("segment held")
	// ErrStalled: the peer has stopped in the middle of a segment or a message, or does not take
	// what is sent.
	ErrStalled = errors.New("peer has stalled")
)

// Fault is what an LLP finds wrong with what the peer sends. It ends the stream.
type Fault struct {
	// Code is what the Terminate message for the peer begins with: layer, error type and error code
	// (RFC 5040 section 4.8), as the specification of the LLP has them.
	Code uint16
	Text string
}

func (f *Fault) Error() string { return f.Text }

// Payload is a scatter list that is used up from the front.
type Payload struct {
	List []transport.Slice
	Skip int // bytes of List[0] that are used up
}

// Next returns the next run of at most n contiguous bytes, n being no more than what is left and
// above 0.
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
