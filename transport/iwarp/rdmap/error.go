package rdmap

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// Error is the end of a stream by a Terminate, ours or the peer's.
type Error struct {
	Code   Code
	Remote bool   // the peer found the error and told us
	Detail string // the message it was in, as far as known; may be empty

	cause error
}

func (e *Error) Error() string {
	s := "terminated: "
	if e.Remote {
		s = "peer terminated: "
	}
	s += e.Code.String()
	if e.Detail != "" {
		s += " (" + e.Detail + ")"
	}
	return s
}

// Unwrap returns the error of package transport that the code stands for, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Is has the peer's be a transport.ErrTerminated.
func (e *Error) Is(target error) bool { return e.Remote && target == transport.ErrTerminated }

// Err is t as an error. Remote says that the peer sent t.
func (t *Terminate) Err(remote bool) *Error {
	return &Error{Code: t.Code, Remote: remote, Detail: t.detail(), cause: t.cause()}
}

// cause is what the code stands for, where it means something else for a message that is no Send
// than for one.
func (t *Terminate) cause() error {
	if h, _, err := ddp.Parse(t.DDPHeader); err == nil && t.Code == UntaggedNoBuffer &&
		!h.Tagged && h.Queue == ddp.QueueReadRequest {
		return transport.ErrTooManyReads
	}
	return t.Code.Cause()
}

// detail describes the message that t has header copies of.
func (t *Terminate) detail() string {
	h, _, err := ddp.Parse(t.DDPHeader)
	if err != nil {
		return ""
	}
	_, op := ParseControl(h.Control)
	if h.Tagged {
		return fmt.Sprintf("%v to STag %#x, offset %#x", op, uint32(h.STag), h.Offset)
	}
	s := fmt.Sprintf("%v, queue %d, message %d, offset %d", op, h.Queue, h.MSN, h.MO)
	if op.Invalidates() {
		s += fmt.Sprintf(", of STag %#x", h.ULP)
	}
	if r, err := ParseReadRequest(t.RDMAPHeader); err == nil {
		s += fmt.Sprintf(", of %d bytes from STag %#x, offset %#x",
			r.Len, uint32(r.SourceSTag), r.SourceOffset)
	}
	return s
}
