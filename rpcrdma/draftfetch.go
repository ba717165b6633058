package rpcrdma

import (
	"errors"
	"net"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/post"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// replyFetch fetches the read chunks of a reply into memory of the pool (draft section 3.5), and
// answers it with an RDMA_DONE. It never blocks: the completion of the last Read sends the
// RDMA_DONE and wakes the caller. It continues if the caller cancels meanwhile.
type replyFetch struct {
	cl     *caller
	k      *call
	loads  []transport.Slice // what has been fetched
	chain  post.Chain
	err    error // the first error of the Reads
	buf    transport.Slice
	ack    transport.WorkRequest // the RDMA_DONE
	list   [1]transport.Slice
	posted [1]*transport.WorkRequest
}

// newReplyFetch returns a replyFetch for a reply with a read list. If the message was taken for a
// call at first, it has been fetched already.
func newReplyFetch(cl *caller, k *call, fetched []transport.Slice) *replyFetch {
	f, _ := cl.l.shared.fetches.Get().(*replyFetch)
	if f == nil {
		f = new(replyFetch)
		f.ack = transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled, Local: f.list[:]}
		f.posted[0] = &f.ack
	}
	f.cl, f.k, f.ack.Done = cl, k, (*doneSent)(k)
	f.loads = append(f.loads, fetched...)
	return f
}

// run begins to fetch the chunks.
func (f *replyFetch) run() {
	if waits, err := f.post(); err != nil || !waits {
		f.fetched(err)
	}
}

// post posts the RDMA Reads, and reports whether there are any. There are none if the message was
// the only chunk and has been fetched already.
func (f *replyFetch) post() (waits bool, err error) {
	l := f.k.l
	if l.settings.Load().Reads == 0 {
		return false, transport.ErrNoReads
	}
	reads := f.k.lists.Reads[len(f.loads):]
	if len(reads) == 0 {
		return false, nil
	}
	n := 0
	for i := range reads {
		n += len(reads[i].Segments)
	}
	f.chain.Begin(n, &l.info)
	l.gate.Divide(&f.chain)
	for i := range reads {
		ch := &reads[i]
		s, err := l.shared.Get(ch.Len, transport.LocalWrite)
		if err != nil {
			return false, err
		}
		f.loads = append(f.loads, s)
		f.chain.AddReads(ch.Segments, ch.Len, f.loads[len(f.loads)-1:], f)
	}
	return true, l.gate.Post(&f.chain)
}

// Complete ends the call when the last Read is complete.
func (f *replyFetch) Complete(wr *transport.WorkRequest, err error) {
	l := f.k.l
	l.queue.Completed()
	if f.err == nil {
		f.err = err
	}
	last := post.IsLast(wr)
	defer l.gate.Done(transport.TotalLen(wr.Local))
	if !last {
		return
	}
	if f.err != nil {
		l.fail(f.err) // the end of the connection ends the call
		return
	}
	f.fetched(nil)
}

// fetched ends the call, with what was fetched or with an error.
func (f *replyFetch) fetched(err error) {
	k, l := f.k, f.k.l
	l.mu.Lock()
	over := l.over
	if !over {
		f.cl.remove(k)
	}
	l.mu.Unlock()
	if over {
		return // Conn.watch ends the call
	}
	if err == nil {
		err = f.assemble()
	}
	k.end(err)
}

// assemble puts the message together from what was fetched.
func (f *replyFetch) assemble() error {
	k, reads, loads := f.k, f.k.lists.Reads, f.loads
	if k.lists.Long {
		b := loads[0].Bytes
		if err := checkReplyMessage(b, k.xid); err != nil {
			return err
		}
		k.recv.Message = wire.Message{Body: b}
		reads, loads = reads[1:], loads[1:]
	}
	for i := range reads {
		k.written = append(k.written,
			xdr.Chunk{Position: reads[i].Position, Len: reads[i].Len, Data: loads[i].Bytes})
	}
	return nil
}

// sendDone sends the RDMA_DONE, so that the peer may free the chunks of its reply (draft section
// 3.8). The RDMA_DONE takes over the credit of the call.
func (f *replyFetch) sendDone() {
	k, l := f.k, f.k.l
	buf, err := l.shared.Get(chunks.FixedLen, 0)
	if err != nil {
		l.fail(err)
		return
	}
	h := wire.Header{
		XID: k.xid, Version: wire.ProtocolVersion, Credits: uint32(l.cfg.Credits),
		Type: wire.TypeDone,
	}
	f.buf = buf
	f.list[0] = buf.Sub(0, len(h.Append(buf.Bytes[:0])))
	k.refs.Add(1)
	atomic.AddUint64(&l.stats.DonesSent, 1)
	if err := l.queue.Post(f.posted[:]); err != nil {
		add(&l.stats.DonesSent, -1)
		k.unref()
		if !errors.Is(err, net.ErrClosed) {
			l.fail(err)
		}
		return
	}
	f.cl.window.DoneSent()
}

// doneSent is the Completer of the RDMA_DONE of a call, whose reply has come.
type doneSent call

// Complete drops the reference of the RDMA_DONE. After a failure the connection ends.
func (s *doneSent) Complete(*transport.WorkRequest, error) {
	k := (*call)(s)
	k.l.queue.Completed()
	k.unref()
}

// release gives back the memory of the reply.
func (f *replyFetch) release() {
	shared := f.k.l.shared
	shared.Put(f.buf, 0)
	for _, s := range f.loads {
		shared.Put(s, transport.LocalWrite)
	}
	clear(f.loads)
	f.loads, f.chain = f.loads[:0], f.chain.Cleared()
	f.buf, f.list[0] = transport.Slice{}, transport.Slice{}
	f.cl, f.k, f.ack.Done, f.err = nil, nil, nil, nil
	shared.fetches.Put(f)
}
