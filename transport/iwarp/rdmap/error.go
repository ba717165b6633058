package rdmap

import (
	"fmt"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
)

// Error is the reason why a Terminate ended a stream. Either side may have sent it.
type Error struct {
	Code   Code
	Remote bool   // the peer found the error and sent the Terminate
	Detail string // the message at fault, as far as known; may be empty

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

// Unwrap returns the error of package transport with the same meaning, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Is reports that a Terminate from the peer is a transport.ErrTerminated.
func (e *Error) Is(target error) bool { return e.Remote && target == transport.ErrTerminated }

// Err returns t as an error. Remote says that the peer sent t.
func (t *Terminate) Err(remote bool) *Error {
	return &Error{Code: t.Code, Remote: remote, Detail: t.detail(), cause: t.cause()}
}

// cause returns the error of package transport with the same meaning. For one code that depends on
// the message: no buffer for a Read Request means too many Reads.
func (t *Terminate) cause() error {
	if h, _, err := ddp.Parse(t.DDPHeader); err == nil && t.Code == UntaggedNoBuffer &&
		!h.Tagged && h.Queue == ddp.QueueReadRequest {
		return transport.ErrTooManyReads
	}
	return t.Code.Cause()
}

// detail describes the message whose headers t has copies of.
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
