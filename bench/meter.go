package bench

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// errWay: a call has travelled otherwise than it was to.
var errWay = errors.New("a call has not gone the way that was to be measured")

// meter is told of each call of a point over RDMA, and remembers the first that has not gone its
// way.
type meter struct {
	point Point
	wrong atomic.Pointer[rpcrdma.CallInfo]
}

// CallDone looks at a call.
func (m *meter) CallDone(i *rpcrdma.CallInfo) {
	if i.Err == nil && !m.point.travelled(i) {
		wrong := *i
		m.wrong.CompareAndSwap(nil, &wrong)
	}
}

// check fails if there was such a call.
func (m *meter) check() error {
	if i := m.wrong.Load(); i != nil {
		return fmt.Errorf("%w: %d bytes sent inline, %d by read chunk, %d of padding; %d received inline, %d by write chunk, %d by reply chunk, %d read",
			errWay, i.InlineSent, i.ReadChunk, i.Padding, i.InlineReceived, i.WriteChunk, i.ReplyChunk, i.ReplyRead)
	}
	return nil
}

// travelled reports whether a call has gone the way of the point.
func (p Point) travelled(i *rpcrdma.CallInfo) bool {
	short := func(chunks ...int) bool { // nothing but the payload's way was used
		for _, n := range chunks {
			if n != 0 {
				return false
			}
		}
		return true
	}
	switch p.Way {
	case InlineCall:
		return i.InlineSent > p.Size && short(i.ReadChunk, i.Padding, i.WriteChunk, i.ReplyChunk, i.ReplyRead)
	case Padded:
		return i.InlineSent > p.Size && i.Padding > 0 && short(i.ReadChunk, i.WriteChunk, i.ReplyChunk, i.ReplyRead)
	case ReadChunk:
		return i.ReadChunk == p.Size && i.InlineSent > 0 && short(i.Padding, i.WriteChunk, i.ReplyChunk, i.ReplyRead)
	case LongCall:
		return i.ReadChunk > p.Size && short(i.InlineSent, i.Padding, i.WriteChunk, i.ReplyChunk, i.ReplyRead)
	case InlineReply:
		return i.InlineReceived > p.Size && short(i.ReadChunk, i.WriteChunk, i.ReplyChunk, i.ReplyRead)
	case WriteChunk:
		return i.WriteChunk == p.Size && i.InlineReceived > 0 && short(i.ReadChunk, i.ReplyChunk, i.ReplyRead)
	case ReplyChunk:
		return i.ReplyChunk > p.Size && short(i.ReadChunk, i.InlineReceived, i.WriteChunk, i.ReplyRead)
	}
	return false
}
