package rpcrdma

import (
	"errors"
	"fmt"
	"net"

	"github.com/rpcrdma/go-rpcrdma/chunks"
	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// replyFetch fetches the read chunks of a reply into memory of the pool (draft section 3.5), and
// answers it with an RDMA_DONE. It never blocks: the completion of the last Read sends the
// RDMA_DONE and wakes the caller. It continues if the caller cancels meanwhile.
type replyFetch struct {
	k      *call
	reads  []chunks.ReadChunk
	long   bool              // the first of reads is the message
	loads  []transport.Slice // what has been fetched
	chain  chain
	err    error // the first error of the Reads
	buf    transport.Slice
	ack    transport.WorkRequest // the RDMA_DONE
	list   [1]transport.Slice
	posted [1]*transport.WorkRequest
}

func newReplyFetch() *replyFetch {
	f := new(replyFetch)
	f.ack = transport.WorkRequest{Op: transport.OpSend, Flags: transport.Signaled, Local: f.list[:]}
	f.posted[0] = &f.ack
	return f
}

// readReply returns a replyFetch for a reply with a read list. If the message was taken for a call
// at first, it has been fetched already, and is in from.
func (d *draft) readReply(k *call, from *arguments) *replyFetch {
	f, _ := d.conn.pool.fetches.Get().(*replyFetch)
	if f == nil {
		f = newReplyFetch()
	}
	f.k, f.ack.Done = k, (*doneSent)(k)
	if from != nil {
		f.loads = append(f.loads, from.loads...)
		from.loads = from.loads[:0]
	}
	return f
}

// check checks the read list of a reply that has inline bytes of message.
func (f *replyFetch) check(h *Header, inline int) error {
	k := f.k
	limit := k.c.cfg.MaxMessage
	if h.Type == TypeNoMsg { // the message is in the reply chunk, unless it is a read chunk
		inline = int(min(h.Reply.Len(), uint64(limit)))
	}
	var err error
	if f.reads, err = h.readChunks(f.reads[:0], limit); err != nil {
		if errors.Is(err, xdr.ErrLimit) {
			err = fmt.Errorf("%w: %w", &oncrpc.ReplyTooLongError{Max: limit}, err)
		}
		return err
	}
	reads := f.reads
	f.long = len(reads) > 0 && reads[0].Position == 0
	if f.long {
		reads, inline = reads[1:], reads[0].Len
	}
	for _, w := range h.Writes {
		inline += xdr.RoundUp(int(w.Len()))
	}
	if err := chunks.CheckPositions(reads, inline); err != nil {
		return err
	}
	if f.long && (h.Type != TypeNoMsg || h.Reply.Len() > 0) {
		return fmt.Errorf("%w: read chunk at position 0 beside a message", ErrMalformed)
	}
	for i := range f.reads {
		k.info.ReplyRead += f.reads[i].Len
	}
	return nil
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
	c := f.k.c
	if c.settings.Load().Reads == 0 {
		return false, transport.ErrNoReads
	}
	reads := f.reads[len(f.loads):]
	if len(reads) == 0 {
		return false, nil
	}
	n := 0
	for i := range reads {
		n += len(reads[i].Segments)
	}
	f.chain.begins(n, &c.info)
	c.gate.divide(&f.chain)
	for i := range reads {
		ch := &reads[i]
		s, err := c.pool.get(ch.Len, transport.LocalWrite)
		if err != nil {
			return false, err
		}
		f.loads = append(f.loads, s)
		f.chain.addReads(ch.Segments, ch.Len, f.loads[len(f.loads)-1:], f)
	}
	return true, c.gate.post(&f.chain)
}

// Complete ends the call when the last Read is complete.
func (f *replyFetch) Complete(wr *transport.WorkRequest, err error) {
	c := f.k.c
	c.queue.completed()
	if f.err == nil {
		f.err = err
	}
	last := isLast(wr)
	defer c.gate.done(transport.TotalLen(wr.Local))
	if !last {
		return
	}
	if f.err != nil {
		c.fail(f.err) // the end of the connection ends the call
		return
	}
	f.fetched(nil)
}

// fetched ends the call, with what was fetched or with an error.
func (f *replyFetch) fetched(err error) {
	k := f.k
	c := k.c
	c.mu.Lock()
	if c.over {
		c.mu.Unlock()
		return // Conn.watch ends the call
	}
	c.caller.pending.remove(k)
	c.mu.Unlock()
	if err == nil {
		err = f.assemble()
	}
	k.end(err)
}

// assemble puts the message together from what was fetched.
func (f *replyFetch) assemble() error {
	k, reads, loads := f.k, f.reads, f.loads
	if f.long {
		b := loads[0].Bytes
		if err := checkReplyMessage(b, k.xid); err != nil {
			return err
		}
		k.recv.message = message{body: b}
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
	k := f.k
	c := k.c
	buf, err := c.pool.get(chunks.FixedLen, 0)
	if err != nil {
		c.fail(err)
		return
	}
	h := Header{XID: k.xid, Version: ProtocolVersion, Credits: uint32(c.cfg.Credits), Type: TypeDone}
	f.buf = buf
	f.list[0] = buf.Sub(0, len(h.Append(buf.Bytes[:0])))
	k.refs.Add(1)
	c.stats.donesSent.Add(1)
	if err := c.queue.post(f.posted[:]); err != nil {
		add(&c.stats.donesSent, -1)
		k.unref()
		if !errors.Is(err, net.ErrClosed) {
			c.fail(err)
		}
		return
	}
	c.caller.window.DoneSent()
}

// doneSent is the Completer of the RDMA_DONE of a call, whose reply has come.
type doneSent call

// Complete drops the reference of the RDMA_DONE. After a failure the connection ends.
func (s *doneSent) Complete(*transport.WorkRequest, error) {
	k := (*call)(s)
	k.c.queue.completed()
	k.unref()
}

// release gives back the memory of the reply.
func (f *replyFetch) release() {
	p := f.k.c.pool
	p.put(f.buf, 0)
	for _, s := range f.loads {
		p.put(s, transport.LocalWrite)
	}
	clear(f.loads)
	clear(f.reads)
	f.loads, f.reads, f.chain = f.loads[:0], f.reads[:0], f.chain.cleared()
	f.buf, f.list[0] = transport.Slice{}, transport.Slice{}
	f.k, f.ack.Done, f.err, f.long = nil, nil, nil, false
	p.fetches.Put(f)
}
