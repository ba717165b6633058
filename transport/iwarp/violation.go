package iwarp

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// violation is an error in a segment that RDMAP or DDP forbids.
type violation struct {
	terminate rdmap.Terminate
	err       *rdmap.Error
}

func newViolation(code rdmap.Code, segment []byte) *violation {
	t := rdmap.TerminateForSegment(code, segment)
	v := &violation{t, t.Err(false)}
	v.terminate.DDPHeader = append([]byte(nil), t.DDPHeader...)
	v.terminate.RDMAPHeader = append([]byte(nil), t.RDMAPHeader...)
	return v
}

func (v *violation) Error() string { return v.err.Error() }

// terminated is a Terminate message from the peer.
type terminated struct{ err *rdmap.Error }

func (t *terminated) Error() string { return t.err.Error() }

// errCode is a violation whose segment the caller knows.
type errCode rdmap.Code

func (c errCode) Error() string { return rdmap.Code(c).String() }

// writeError returns the error code for a Write of n bytes that the table refuses with err.
func writeError(h *ddp.Header, n int, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, transport.ErrAccess):
		return errCode(rdmap.ProtectionAccess) // DDP has no code for it
	case errors.Is(err, transport.ErrBounds) && wraps(h.Offset, uint64(n)):
		return errCode(rdmap.TaggedWrap)
	case errors.Is(err, transport.ErrBounds):
		return errCode(rdmap.TaggedBounds)
	}
	return errCode(rdmap.TaggedSTag)
}

// protectionCode returns the code for a window that a Read of the peer may not use.
func protectionCode(err error) rdmap.Code {
	switch {
	case errors.Is(err, transport.ErrAccess):
		return rdmap.ProtectionAccess
	case errors.Is(err, transport.ErrBounds):
		return rdmap.ProtectionBounds
	}
	return rdmap.ProtectionSTag
}

// wraps reports whether n bytes at off exceed the end of the address space.
func wraps(off, n uint64) bool { return off+n-1 < off }
