package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
	"github.com/rpcrdma/go-rpcrdma/transport/stag"
)

// placing is a loan to the LLP.
type placing struct {
	loan stag.Loan
	lent bool // loan is one; a Read's memory belongs to the goroutine that receives
}

// Lend lends memory for a segment of an RDMA Write, or of the response to an RDMA Read. What is wrong with a segment shows when it is
// whole.
func (e *endpoint) Lend(dst [][]byte, header []byte, n, skip int) ([][]byte, bool) {
	h, _, err := ddp.Parse(header)
	if err != nil || !h.Tagged || h.Version != e.version || e.in.rtr != 0 {
		return dst, false
	}
	version, op := rdmap.ParseControl(h.Control)
	switch {
	case version != e.version:
	case op == rdmap.OpWrite:
		if dst, e.placing.loan, err = e.table.Lend(dst, h.STag, h.Offset, uint64(n), uint64(skip)); err == nil {
			e.placing.lent = true
			return dst, true
		}
	case op == rdmap.OpReadResponse:
		read, err := e.answering(&h, n)
		if err != nil {
			return dst, false
		}
		return appendPayload(dst, read.to, n, skip), true
	}
	return dst, false
}

// appendPayload appends bytes skip to n of p.
func appendPayload(dst [][]byte, p ddp.Payload, n, skip int) [][]byte {
	for n > 0 {
		b := p.Next(n)
		n -= len(b)
		if skip >= len(b) {
			skip -= len(b)
			continue
		}
		dst = append(dst, b[skip:])
		skip = 0
	}
	return dst
}

// Return ends the loan.
func (e *endpoint) Return() {
	if e.placing.lent {
		e.placing.lent = false
		e.placing.loan.Return()
	}
}

// Placed takes a segment that is in its place, if that is still one.
func (e *endpoint) Placed(header []byte, n int) error {
	h, _, err := ddp.Parse(header)
	if err != nil {
		return err
	}
	e.hear()
	if _, op := rdmap.ParseControl(h.Control); op == rdmap.OpReadResponse {
		err = e.readPlaced(&h, n)
	} else {
		err = writeError(&h, n, e.table.Check(h.STag, transport.RemoteWrite, h.Offset, uint64(n)))
	}
	if code, ok := err.(errCode); ok {
		v := newViolation(rdmap.Code(code), header)
		if v.terminate.HasLength {
			v.terminate.Length = uint16(len(header) + n)
		}
		return v
	}
	return err
}
