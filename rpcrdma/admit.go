package rpcrdma

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/oncrpc"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/memory"
	"github.com/rpcrdma/go-rpcrdma/rpcrdma/internal/wire"
	"github.com/rpcrdma/go-rpcrdma/xdr"
)

// received takes a call, with its message if that is inline.
func (rs *responder) received(r *memory.Receive) {
	if in := rs.newCall(r); in != nil {
		in.admit()
	}
}

// refuse answers a bad call with an RDMA_ERROR.
func (rs *responder) refuse(r *memory.Receive, err error, code wire.ErrCode) {
	l := rs.l
	count := &l.stats.Malformed
	if code == wire.ErrVers {
		count = &l.stats.BadVersion
	}
	l.fault(count, "message refused", r.Header.XID, err)
	r.Message = wire.Message{}
	if in := rs.newCall(r); in != nil {
		in.refuse(code)
	}
}

// newCall makes a call of a message, or returns nil if the connection has ended.
func (rs *responder) newCall(r *memory.Receive) *incoming {
	l := rs.l
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return nil
	}
	l.receives.Arrived(r)
	l.granter.CallReceived()
	return rs.newIncoming(r)
}

// admit checks the call, and continues with it when there is memory for it.
func (in *incoming) admit() {
	l := in.l
	atomic.AddUint64(&l.stats.CallsReceived, 1)
	if err := in.check(); err != nil {
		l.fault(&l.stats.Malformed, "call refused", in.header.XID, err)
		in.refuse(wire.ErrChunk)
		return
	}
	if !in.reserve() {
		atomic.AddUint64(&l.stats.Waited, 1)
		return
	}
	in.fetchMessage()
}

// check checks the chunk lists of the call, and computes how much memory it needs.
func (in *incoming) check() error {
	l, h, args := in.l, in.header, &in.args
	most := l.cfg.MaxMessage
	err := wire.Check(wire.Call, h, &wire.Limits{
		NoReads: l.settings.Load().Reads == 0, Bytes: most, Inline: in.message.Len(),
	}, &args.lists)
	if err != nil {
		if errors.Is(err, xdr.ErrLimit) {
			err = fmt.Errorf("%w: %w", &oncrpc.CallTooLongError{Max: most}, err)
		}
		return err
	}
	offered := h.Reply.Len()
	for _, w := range h.Writes {
		offered += w.Len()
	}
	in.needs = int64(min(offered, uint64(most))) - in.reserved
	for i := range args.lists.Reads {
		in.needs += int64(args.lists.Reads[i].Len)
	}
	return nil
}

// reserve reserves the memory that the call needs. If it reports false, the call waits, and proceed
// goes on with it.
func (in *incoming) reserve() bool {
	rs := in.rs
	if in.needs == 0 && (rs.pinned == nil || !rs.pinned.withholds()) {
		return true
	}
	if !rs.share.Reserve(&in.request, in, in.needs) {
		return false
	}
	in.reserved, in.needs = in.reserved+in.needs, 0
	return true
}

// proceed continues with calls that have waited, and now have their memory. They may be of other
// connections than the one whose goroutine this is. If a handler ends the goroutine, another one
// goes on with the rest.
func proceed(calls []*incoming) {
	if len(calls) == 0 {
		return
	}
	defer func() {
		if len(calls) > 0 {
			go proceed(calls)
		}
	}()
	for len(calls) > 0 {
		in := calls[0]
		calls = calls[1:]
		in.reserved, in.needs = in.reserved+in.needs, 0
		in.fetchMessage()
	}
}
