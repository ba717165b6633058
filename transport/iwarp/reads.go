package iwarp

import (
	"errors"
	"math/rand/v2"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// rtrRead stands for the number of the work request in an RDMA Read that is an RTR.
const rtrRead = ^uint64(0)

// outboundRead is an RDMA Read of ours that waits for its response. Responses come in the order of
// the requests (RFC 5040 section 5.5), so only the oldest can be answered.
type outboundRead struct {
	number uint64 // of the work request
	msn    uint32 // of the Read Request
	sink   transport.STag
	offset uint64 // of the next segment
	left   uint32 // bytes
	to     ddp.Payload
}

// inboundRead is an RDMA Read of the peer that is to be answered.
type inboundRead struct {
	sink         transport.STag
	sinkOffset   uint64
	source       transport.STag
	sourceOffset uint64
	left         uint32 // bytes
	msn          uint32
}

// readRequest takes a Read Request of the peer.
func (r *receiver) readRequest(h *ddp.Header, payload []byte) error {
	switch {
	case h.MSN != r.readMSN:
		return errCode(rdmap.UntaggedMSNRange)
	case h.MO != 0:
		return errCode(rdmap.UntaggedMO)
	case len(payload) > rdmap.ReadRequestLen:
		return errCode(rdmap.UntaggedTooLong)
	}
	q, err := rdmap.ParseReadRequest(payload)
	if err != nil || !h.Last {
		return errCode(rdmap.OperationUnspecified)
	}
	err = r.Table.Check(q.SourceSTag, transport.RemoteRead, q.SourceOffset, uint64(q.Len))
	switch {
	case errors.Is(err, transport.ErrBounds) && wraps(q.SourceOffset, uint64(q.Len)):
		return errCode(rdmap.ProtectionWrap)
	case err != nil:
		return errCode(protectionCode(err))
	}
	r.readMSN++
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.queues.responses.Room(1) {
		return errCode(rdmap.UntaggedNoBuffer)
	}
	r.queues.responses.Push(inboundRead{
		sink: q.SinkSTag, sinkOffset: q.SinkOffset,
		source: q.SourceSTag, sourceOffset: q.SourceOffset, left: q.Len, msn: h.MSN,
	})
	return nil
}

// segment rebuilds the Read Request, for the Terminate message if the window ends before the read
// does.
func (r *inboundRead) segment(v version) []byte {
	h := ddp.Header{Last: true, Queue: ddp.QueueReadRequest, MSN: r.msn}
	v.stamp(&h, rdmap.OpReadRequest)
	req := rdmap.ReadRequest{
		SinkSTag: r.sink, SinkOffset: r.sinkOffset, Len: r.left,
		SourceSTag: r.source, SourceOffset: r.sourceOffset,
	}
	return req.Append(h.Append(nil))
}

// sinkTags makes the steering tags for the memory that our RDMA Reads fill. They are in no table: a
// response must name the tag of the oldest read, and a Write to one fails. Even so, each is used
// for one read only, and is hard to guess.
type sinkTags struct{ last uint32 }

func (t *sinkTags) next() transport.STag {
	for {
		if tag := rand.Uint32(); t.take(tag) {
			return transport.STag(tag)
		}
	}
}

// take makes a tag the latest, unless its index is 0 or that of the one before.
func (t *sinkTags) take(tag uint32) bool {
	if tag>>8 == 0 || tag>>8 == t.last>>8 {
		return false
	}
	t.last = tag
	return true
}
