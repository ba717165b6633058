package bench

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// errWay means that a call did not travel in the point's way.
var errWay = errors.New("a call did not travel in the way to be measured")

// meter observes each call of a point over RDMA, and keeps the first that did not travel in the
// point's way.
type meter struct {
	point Point
	wrong atomic.Pointer[rpcrdma.CallInfo]
}

// CallDone checks one call.
func (m *meter) CallDone(i *rpcrdma.CallInfo) {
	if i.Err == nil && !m.point.travelled(i) {
		wrong := *i
		m.wrong.CompareAndSwap(nil, &wrong)
	}
}

// check fails if a call did not travel in the point's way.
func (m *meter) check() error {
	if i := m.wrong.Load(); i != nil {
		return fmt.Errorf("%w: %d bytes sent inline, %d by read chunk, %d of padding; "+
			"%d received inline, %d by write chunk, %d by reply chunk, %d read",
			errWay, i.InlineSent, i.ReadChunk, i.Padding, i.InlineReceived, i.WriteChunk, i.ReplyChunk, i.ReplyRead)
	}
	return nil
}

// travelled reports whether a call has travelled in the point's way.
func (p Point) travelled(i *rpcrdma.CallInfo) bool {
	short := func(chunks ...int) bool { // reports whether nothing went another way
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
