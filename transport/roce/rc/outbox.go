package rc

import (
	"sync/atomic"

	"github.com/rpcrdma/go-rpcrdma/transport/roce/bth"
)

// Outbox takes outgoing packets.
type Outbox interface {
	// Packet adds a packet with n bytes of payload, which the caller must fill in before it adds
	// another one. It reports false, and adds nothing, if there is no room.
	Packet(h *bth.Packet, n int) (payload []byte, ok bool)
	// Undo removes the packet added last.
	Undo()
}

// Traffic counts the bytes and packets of a connection. Its fields may be read at any time.
type Traffic struct {
	Sent, Received atomic.Uint64 // bytes of payload, each counted once
	Read           atomic.Uint64 // the part of Received from RDMA Reads of this end
	Counters
}

// Counters is notified of events.
type Counters interface {
	Retransmitted() // a packet of a request was sent again
	TimedOut()
	Duplicate()     // a packet came again
	OutOfSequence() // a packet came ahead of a missing one
	SentNAK(bth.Syndrome)
	ReceivedNAK(bth.Syndrome)
}
