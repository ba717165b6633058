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

// admit checks the call, and starts it when there is memory for it.
func (in *incoming) admit() {
	c := in.c
	c.stats.callsReceived.Add(1)
	if err := in.check(); err != nil {
		c.fault(&c.stats.malformed, "call refused", in.header.XID, err)
		in.refuse(ErrChunk)
		return
	}
	if !c.budget.reserve(in) {
		c.stats.waited.Add(1)
		return
	}
	in.start()
}

// check checks the chunk lists of the call, and computes the memory that it needs.
func (in *incoming) check() error {
	c, h := in.c, &in.header
	var err error
	if in.reads, err = h.readChunks(in.reads[:0], c.cfg.MaxMessage); err != nil {
		if errors.Is(err, xdr.ErrLimit) {
			err = fmt.Errorf("%w: %w", &oncrpc.CallTooLongError{Max: c.cfg.MaxMessage}, err)
		}
		return err
	}
	if len(in.reads) > 0 && c.settings.Load().Reads == 0 {
		return transport.ErrNoReads
	}
	in.long = len(in.reads) > 0 && in.reads[0].Position == 0
	switch {
	case in.long && h.Type != TypeNoMsg:
		return fmt.Errorf("%w: read chunk at position 0 beside a message", ErrMalformed)
	case !in.long && h.Type == TypeNoMsg:
		return fmt.Errorf("%w: RDMA_NOMSG without a message", ErrMalformed)
	case !in.long:
		err = chunks.CheckPositions(in.reads, len(in.body)+len(in.more))
	default:
		err = chunks.CheckPositions(in.reads[1:], in.reads[0].Len)
	}
	if err != nil {
		return err
	}
	offered := uint64(0)
	for _, w := range h.Writes {
		offered += w.Len()
	}
	offered += h.Reply.Len()
	// Nothing is to be given back of a call that was refused above.
	in.reserved = int64(min(offered, uint64(c.cfg.MaxMessage)))
	for i := range in.reads {
		in.reserved += int64(in.reads[i].Len)
	}
	return nil
}

// start begins the call once its memory is reserved: a long message is fetched first.
func (in *incoming) start() {
	if !in.long || len(in.loads) > 0 { // it was in doubt, and is here
		in.begin()
		return
	}
	n := in.reads[0].Len
	s, err := in.c.pool.get(n, transport.LocalWrite)
	if err != nil && in.doubtful {
		in.isReply()
		return
	}
	if err != nil {
		in.c.cfg.faults.Fault(in.c.info.RemoteAddr, "rpcrdma: no memory for a call", nil, "xid", in.header.XID, "err", err)
		in.refuse(ErrChunk)
		return
	}
	in.loads = append(in.loads, s)
	in.body = s.Bytes
	if err := in.read(in.reads[0].Segments, n, in.loads[:1], (*longRead)(in)); err != nil {
		in.abort(err)
	}
}

// begin hands the call to the server.
func (in *incoming) begin() {
	for i := range in.reads {
		if in.long && i == 0 {
			continue
		}
		ch := &in.reads[i]
		in.args = append(in.args, xdr.Chunk{Position: ch.Position, Len: ch.Len, Source: in, ID: in.chunkID(i)})
	}
	in.dec.Reset(in.body, in.args)
	in.message.decode(&in.dec)
	if in.server == nobody {
		in.c.stats.unserved.Add(1)
	}
	in.server.Dispatch(in)
}

// abort gives up a call whose message could not be read, so that its connection cannot go on. Where
// that comes of its end there may be many such calls, and why it ended is in the log.
func (in *incoming) abort(err error) {
	const msg = "rpcrdma: call aborted"
	peer, xid := in.c.info.RemoteAddr, in.header.XID
	if errors.Is(err, net.ErrClosed) || errors.Is(err, transport.ErrFlushed) {
		in.c.cfg.Logger.Debug(msg, "peer", peer, "xid", xid, "err", err)
	} else {
		in.c.cfg.faults.Fault(peer, msg, nil, "xid", xid, "err", err)
	}
	in.c.fail(err)
	in.Drop()
}
