package gateway

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/rpcrdma"
)

// ways counts the bytes of calls and replies by the way that they travel over RDMA. It is an
// rpcrdma.Observer.
type ways struct{ inlineSent, inlineReceived, readChunk, writeChunk, replyChunk atomic.Int64 }

// CallDone adds a call.
func (w *ways) CallDone(c *rpcrdma.CallInfo) {
	w.inlineSent.Add(int64(c.InlineSent))
	w.inlineReceived.Add(int64(c.InlineReceived))
	w.readChunk.Add(int64(c.ReadChunk))
	w.writeChunk.Add(int64(c.WriteChunk))
	w.replyChunk.Add(int64(c.ReplyChunk))
}

// attrs returns the counters for the log.
func (w *ways) attrs() []any {
	return []any{
		"inline_sent", w.inlineSent.Load(), "inline_received", w.inlineReceived.Load(),
		"read_chunk", w.readChunk.Load(), "write_chunk", w.writeChunk.Load(), "reply_chunk", w.replyChunk.Load()}
}
