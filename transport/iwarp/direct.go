package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// Lend lends memory for a segment of an RDMA Write, or of the response to an RDMA Read. An invalid
// segment is not reported here, but when it is complete.
func (r *receiver) Lend(dst [][]byte, header []byte, n, skip int) ([][]byte, bool) {
	h, _, err := ddp.Parse(header)
	if err != nil || !h.Tagged || !r.version.segment(&h) || r.rtr.kinds != 0 {
		return dst, false
	}
	return r.placer.lend(dst, &h, n, skip)
}

// Return ends the loan.
func (r *receiver) Return() { r.placer.giveBack() }

// Placed takes a segment whose payload is in place. It checks once more that the place is valid.
func (r *receiver) Placed(header []byte, n int) error {
	h, _, err := ddp.Parse(header)
	if err != nil {
		return err
	}
	r.hear()
	err = r.placer.placed(&h, n)
	if code, ok := err.(errCode); ok {
		v := newViolation(rdmap.Code(code), header)
		if v.terminate.HasLength {
			v.terminate.Length = uint16(len(header) + n)
		}
		return v
	}
	return err
}

// lend lends memory from byte skip on. A window can be taken back meanwhile. The memory of a Read
// belongs to the goroutine that receives until the response is complete.
func (p *placer) lend(dst [][]byte, h *ddp.Header, n, skip int) ([][]byte, bool) {
	switch op, ok := p.version.operation(h); {
	case !ok:
	case op == rdmap.OpWrite:
		var err error
		dst, p.loan, err = p.Table.Lend(dst, h.STag, h.Offset, uint64(n), uint64(skip))
		p.lent = err == nil
		return dst, p.lent
	case op == rdmap.OpReadResponse:
		read, err := p.answering(h, n)
		if err != nil {
			return dst, false
		}
		return appendPayload(dst, read.to, n, skip), true
	}
	return dst, false
}

// appendPayload appends to dst the memory for bytes skip to n of p.
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

// giveBack ends the loan of a window.
func (p *placer) giveBack() {
	if p.lent {
		p.lent = false
		p.loan.Return()
	}
}

// placed takes a segment whose n bytes of payload are in place.
func (p *placer) placed(h *ddp.Header, n int) error {
	if _, op := rdmap.ParseControl(h.Control); op != rdmap.OpReadResponse {
		return writeError(h, n, p.Table.Check(h.STag, transport.RemoteWrite, h.Offset, uint64(n)))
	}
	read, err := p.answering(h, n)
	if err != nil {
		return err
	}
	for left := n; left > 0; {
		left -= len(read.to.Next(left))
	}
	p.answered(h, &read, n)
	return nil
}
