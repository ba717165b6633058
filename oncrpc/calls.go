package oncrpc

import (
	"sync"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/internal/poison"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// restingCalls is how many calls come between the end of a Call and its use for another one.
const restingCalls = 64

// maxKeptBuffer is the longest buffer in bytes of a Call that is kept for the next one.
const maxKeptBuffer = 256 << 10

// callPool keeps Calls for further calls. A goroutine that outlives its handler finds the Call
// ended, and panics, as long as it is not used again: so each rests for a while.
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

// put takes a Call back, which has ended.
func (p *callPool) put(c *Call) {
	if poison.On {
		return
	}
	rested := p.resting[p.next.Add(1)%restingCalls].Swap(c)
	if rested != nil {
		p.pool.Put(rested)
	}
}

// end ends what the handler was lent: it has returned.
func (c *Call) end() {
	c.enc.Invalidate()
	c.args.Invalidate()
}

// longReplies has the memory of replies whose results were put into it and are longer than a Call
// keeps memory for. So there is as much as such replies are on their way at a time, until the
// garbage collector finds it unused.
var longReplies = sync.Pool{New: func() any { return new(xdr.Encoder) }}

// makeReply chooses the memory for a reply that c.plain is put into.
func (c *Call) makeReply() {
	c.out = &c.short
	if c.plain.Len() > maxKeptBuffer/2 { // twice of it, or less, is what a buffer grows to
		c.out = longReplies.Get().(*xdr.Encoder)
	}
}

// forgetReply takes back the memory of a reply whose results were put into it, if it was made.
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

// forget takes back the memory of results that have left. What the handler was lent stays ended.
func (c *Call) forget() {
	b := c.enc.Message().Inline
	poison.Bytes(b)
	c.enc.Reset()
	if cap(b) > maxKeptBuffer {
		c.enc = xdr.Encoder{}
	}
	c.end()
}
