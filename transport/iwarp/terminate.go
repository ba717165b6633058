package iwarp

import (
	"github.com/rpcrdma/go-rpcrdma/transport"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/ddp"
	"github.com/rpcrdma/go-rpcrdma/transport/iwarp/rdmap"
)

// appendTerminate adds a Terminate message, the only one of its queue, to the batch.
func appendTerminate(llp ddp.LLP, v version, message []byte) {
	h := ddp.Header{Last: true, Queue: ddp.QueueTerminate, MSN: 1}
	v.stamp(&h, rdmap.OpTerminate)
	p := ddp.Payload{List: []transport.Slice{{Bytes: message}}}
	llp.Append(h.Append(nil), &p, len(message), 0)
}

// terminate takes the message by which the peer ends the stream. It uses as much of it as it
// understands, and checks nothing: there is no answer to a Terminate.
func (r *receiver) terminate(payload []byte) error {
	t, err := rdmap.ParseTerminate(payload)
	if err != nil && t.Code == 0 {
		t.Code = rdmap.OperationUnspecified
	}
	r.blame(&t)
	return &terminated{t.Err(true)}
}

// blame finds the RDMA Read of ours that a Terminate refers to.
func (r *receiver) blame(t *rdmap.Terminate) {
	h, _, err := ddp.Parse(t.DDPHeader)
	if err != nil || h.Tagged || h.Queue != ddp.QueueReadRequest {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.queues.reads.Len() {
		if q := r.queues.reads.At(i); q.msn == h.MSN && q.number != rtrRead {
			r.queues.blamed = blame{q.number, t.Err(true)}
		}
	}
}
