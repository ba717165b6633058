package oncrpc

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// restingCalls is how many calls pass before a finished Call is reused.
const restingCalls = 64

// maxKeptBuffer is the length in bytes of the longest buffer that a Call keeps for reuse.
const maxKeptBuffer = 256 << 10

// callPool keeps Calls for reuse. A goroutine that outlives its handler panics when it uses a
// finished Call, but only until the Call is reused. So each Call rests for a while first.
type callPool struct {
	pool    sync.Pool
	next    atomic.Uint32
	resting [restingCalls]atomic.Pointer[Call]
}

// get returns a Call, or nil if there is none.
func (p *callPool) get() *Call {
	c, _ := p.pool.Get().(*Call)
	return c
}

// put takes back a finished Call.
func (p *callPool) put(c *Call) {
	if poison.On {
		return
	}
	rested := p.resting[p.next.Add(1)%restingCalls].Swap(c)
	if rested != nil {
		p.pool.Put(rested)
	}
}

// end invalidates what the handler was lent, after it has returned.
func (c *Call) end() {
	c.enc.Invalidate()
	c.args.Invalidate()
}

// longReplies holds memory for wrapped or copied replies that are longer than what a Call keeps.
// Its size follows the number of such replies being sent at a time, until the garbage collector
// frees it.
var longReplies = sync.Pool{New: func() any { return new(xdr.Encoder) }}

// makeReply chooses the memory for a reply that c.plain is copied or wrapped into.
func (c *Call) makeReply() {
	c.out = &c.short
	if c.plain.Len() > maxKeptBuffer/2 { // a buffer may grow to twice the length
		c.out = longReplies.Get().(*xdr.Encoder)
	}
}

// forgetReply releases the memory of such a reply, if it was made.
func (c *Call) forgetReply() {
	if c.out == nil {
		return
	}
	b := c.out.Message().Inline
	poison.Bytes(b)
	c.out.Reset()
	switch {
	case c.out != &c.short:
		longReplies.Put(c.out)
	case cap(b) > maxKeptBuffer:
		c.short = xdr.Encoder{}
	}
	c.out = nil
}

// forget releases the memory of results that were sent. What the handler was lent stays invalid.
func (c *Call) forget() {
	b := c.enc.Message().Inline
	poison.Bytes(b)
	c.enc.Reset()
	if cap(b) > maxKeptBuffer {
		c.enc = xdr.Encoder{}
	}
	c.end()
}
