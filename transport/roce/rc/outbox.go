package rc

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// Outbox takes packets that are to be sent.
type Outbox interface {
	// Packet adds a packet with n bytes of payload, which the caller fills in before it adds
	// another one. If there is no room, nothing is added.
	Packet(h *bth.Packet, n int) (payload []byte, ok bool)
	// Undo takes back the packet that was added last.
	Undo()
}

// Traffic counts the bytes of a connection, and what happens to packets. Its fields may be read at
// any time.
type Traffic struct {
	Sent, Received atomic.Uint64 // bytes of payload, each once
	Read           atomic.Uint64 // of Received, by RDMA Reads of this end
	Counters
}

// Counters is told of what happens.
type Counters interface {
	Retransmitted() // a packet of a request is sent again
	TimedOut()
	Duplicate()     // a packet has come again
	OutOfSequence() // a packet has come ahead of one that is missing
	SentNAK(bth.Syndrome)
	ReceivedNAK(bth.Syndrome)
}
