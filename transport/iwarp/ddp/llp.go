package ddp

import (
	"errors"
	"sync"

	"github.com/rpcrdma/go-rpcrdma/transport"
)

// LLP is the lower layer protocol of one DDP stream: MPA over TCP, or SCTP. It keeps segment
// boundaries and delivers each segment whole and once (RFC 5041 section 2, RFC 5044 section 3).
//
// An LLP sends in batches: Append collects segments, Flush and Wait send them.
//
// What may run at the same time:
//
//   - Append, Flush, Detach and Cut must not overlap.
//   - While Wait waits, only Append and Detach of these may be called.
//   - Receive may overlap with any of the methods that send.
//   - Only Interrupt may overlap with Close.
//   - Resume and Traffic may be called at any time.
type LLP interface {
	// MaxSegment returns the maximum length of a segment in bytes, header included (MULPDU).
	MaxSegment() int

	// Receive waits for bytes from the peer, reads once, and hands the segments that are now
	// complete to sink. It returns an error of sink unchanged. Its own errors are:
	//
	//   - io.EOF: the peer has closed the connection.
	//   - io.ErrUnexpectedEOF: the peer has closed it in the middle of a segment.
	//   - ErrStalled: the peer has left a segment or a message incomplete for too long.
	//   - a *Fault: the peer broke the protocol of the LLP.
	//   - os.ErrDeadlineExceeded: after Interrupt.
	//   - others: the network failed.
	Receive(sink Sink) error

	// Hold waits, after Receive has returned ErrHold, until Resume or Interrupt. Meanwhile flow
	// control stops the peer, and no time counts as a stall. If the peer closes the connection,
	// Hold fails with io.EOF or with what ended the connection, as soon as the LLP can know: also
	// if bytes that came before have not been read.
	Hold() error

	// Resume ends Hold. If nobody holds, the next Hold returns at once.
	Resume()

	// Append adds a segment to the batch: a header and the next n bytes of p. It copies the header.
	// The batch may refer to the payload until it is empty, or until Detach(owner). An owner of 0
	// means that Detach is never called for this payload. The content of a payload with an owner
	// may change meanwhile. Append reports false, and does nothing, if the batch is full.
	Append(header []byte, p *Payload, n int, owner transport.STag) bool

	// Flush sends what the network takes without waiting. It reports whether the batch is now
	// empty. An empty batch no longer refers to any memory.
	Flush() (empty bool, err error)

	// Wait waits until the network takes more of the batch, and sends it. It holds l while it
	// touches the batch, but not while it waits. It fails with ErrStalled if the peer takes too
	// little.
	Wait(l sync.Locker) (empty bool, err error)

	// Detach copies the payload that the batch refers to under the name owner.
	Detach(owner transport.STag)

	// Cut drops the segments of the batch that have not begun to be sent. It copies the rest of a
	// partly sent one, or drops that too if peerGone.
	Cut(peerGone bool)

	// Interrupt ends Receive, Hold and Wait, now and for good. Receive and Wait fail with
	// os.ErrDeadlineExceeded. Wait may first take a few seconds for a write that cannot be broken
	// off without damage.
	Interrupt()

	// Close closes the connection. If orderly, it sends the batch, says that nothing more will
	// come, and waits for the peer to do the same, so that the peer can read all that was sent. If
	// that takes more than a few seconds, or if not orderly, it resets the connection.
	Close(orderly bool)

	// Traffic returns the bytes sent and received since the setup.
	Traffic() (sent, received uint64)
}

// Sink takes segments. Through Lend, Return and Placed it also says where payload belongs, so that
// an LLP can let the system put it there while the segment is still arriving, without a copy. An
// LLP that cannot do so hands every segment to Segment.
type Sink interface {
	// Segment takes one segment, whose bytes are valid during the call only. If it returns ErrHold,
	// the LLP keeps the segment, and the next Receive begins with it, without waiting.
	Segment(segment []byte) error

	// Unfinished names a message that has begun to arrive and is incomplete, if others may have to
	// wait for what it holds; 0 means that there is none. Moved is the number of payload bytes that
	// all such messages have brought, ever. A peer has stalled if the message stays the same and
	// moved does not grow fast enough.
	Unfinished() (message uint64, moved int)

	// Ready reports whether Segment will certainly not return ErrHold for now. If false, the LLP
	// reads little at a time, so that it has little to keep.
	Ready() bool

	// ExpectsMore reports whether the peer's next bytes are likely to come very soon. An LLP that
	// finds nothing to read may then look again for a few microseconds before it sleeps: sleeping
	// and waking up may take longer than the peer does.
	ExpectsMore() bool

	// Lend appends to dst the memory for bytes skip to n of the payload of a tagged segment. The
	// LLP may fill it until it calls Return, which it does soon. Lend reports false, and lends
	// nothing, if the payload must not be placed. The LLP then hands the whole segment to Segment
	// if skip is 0, or else drops the rest of it and calls Placed.
	Lend(dst [][]byte, header []byte, n, skip int) ([][]byte, bool)

	// Return ends the loan of the last Lend.
	Return()

	// Placed takes a segment whose n bytes of payload are in place.
	Placed(header []byte, n int) error
}

// Errors by which an LLP and a Sink communicate.
var (
	// ErrHold: the Sink cannot take a segment yet.
	ErrHold = errors.New("segment held")
	// ErrStalled: the peer has stopped in the middle of a segment or a message, or does not take
	// what is sent.
	ErrStalled = errors.New("peer has stalled")
)

// Fault is a violation of the LLP's protocol by the peer. It ends the stream.
type Fault struct {
	// Code is the beginning of the Terminate message for the peer: layer, error type and error code
	// (RFC 5040 section 4.8), as the specification of the LLP defines them.
	Code uint16
	Text string
}

func (f *Fault) Error() string { return f.Text }

// Payload is a scatter list that is consumed from the front.
type Payload struct {
	List []transport.Slice
	Skip int // bytes of List[0] already consumed
}

// Next consumes and returns the next contiguous bytes, at most n. The caller makes sure that n is
// above 0 and at most what is left.
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
