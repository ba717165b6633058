package iwarp

import (
	"errors"

	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// untagged takes a segment of the untagged model: of a Send, a Read Request, or a Terminate.
func (r *receiver) untagged(h *ddp.Header, payload []byte) error {
	if h.Version != r.version {
		return errCode(rdmap.UntaggedVersion)
	}
	if h.Queue > ddp.QueueTerminate {
		return errCode(rdmap.UntaggedQueue)
	}
	version, op := rdmap.ParseControl(h.Control)
	switch {
	case version != r.version:
		return errCode(rdmap.OperationVersion)
	case !op.Valid() || op.Tagged() || op.Queue() != h.Queue:
		return errCode(rdmap.OperationOpcode)
	case op == rdmap.OpReadRequest:
		return r.readRequest(h, payload)
	case op == rdmap.OpTerminate:
		return r.terminate(payload)
	}
	return r.assembler.segment(h, op, payload)
}

// readRequest takes an RDMA Read of the peer's.
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
	err = r.table.Check(q.SourceSTag, transport.RemoteRead, q.SourceOffset, uint64(q.Len))
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

// terminate takes the message by which the peer ends the stream. What it says is taken as far as it
// can be understood, whatever its header says besides: there is no answer to a Terminate.
func (r *receiver) terminate(payload []byte) error {
	t, err := rdmap.ParseTerminate(payload)
	if err != nil && t.Code == 0 {
		t.Code = rdmap.OperationUnspecified
	}
	r.blame(&t)
	return &terminated{t.Err(true)}
}

// blame finds the RDMA Read of ours that a Terminate is about.
func (r *receiver) blame(t *rdmap.Terminate) {
	h, _, err := ddp.Parse(t.DDPHeader)
	if err != nil || h.Tagged || h.Queue != ddp.QueueReadRequest {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.queues.reads.Len() {
		if q := r.queues.reads.At(i); q.msn == h.MSN && q.number != rtrRead {
			r.queues.requests.blame(q.number, t.Err(true))
		}
	}
}
