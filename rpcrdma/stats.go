package rpcrdma

import "sync/atomic"

// Stats counts what has happened on a connection.
type Stats struct {
	CallsSent     uint64 // this side's calls
	CallsReceived uint64 // the peer's calls
	Cancelled     uint64 // this side's calls given up before their reply
	LateReplies   uint64 // replies to those
	UnknownXID    uint64 // replies and errors to no call of this side
	Malformed     uint64 // messages with an invalid header or chunk list
	BadVersion    uint64 // messages of another version
	ErrorsSent    uint64 // RDMA_ERRORs
	ErrorsRecv    uint64
	DonesSent     uint64 // RDMA_DONEs
	DonesReceived uint64 // RDMA_DONEs that acknowledged a reply
	DonesIgnored  uint64 // RDMA_DONEs that acknowledged nothing
	DonesMissed   uint64 // replies whose memory was taken back after PeerTimeout without an RDMA_DONE
	Padded        uint64 // RDMA_MSGPs received
	Withheld      uint64 // replies that waited for RDMA_DONEs of earlier ones
	Unserved      uint64 // calls answered PROG_UNAVAIL because nothing serves the connection
	Waited        uint64 // calls that waited for memory
	TooLong       uint64 // replies that did not fit in what the caller offered, or in Config.MaxMessage
	Exceeded      uint64 // 1 if the peer sent more than was granted, which ended the connection
	HeldUp        uint64 // times that the peer's messages waited for memory to receive them
}

type stats struct {
	callsSent, callsReceived, cancelled, lateReplies, unknownXID, malformed, badVersion,
	errorsSent, errorsRecv, donesSent, donesReceived, donesIgnored, donesMissed, padded, withheld,
	unserved, waited, tooLong, exceeded, heldUp atomic.Uint64
}

// Stats returns the connection's counters.
func (c *Conn) Stats() Stats {
	s := &c.stats
	return Stats{
		s.callsSent.Load(), s.callsReceived.Load(), s.cancelled.Load(), s.lateReplies.Load(), s.unknownXID.Load(),
		s.malformed.Load(), s.badVersion.Load(), s.errorsSent.Load(), s.errorsRecv.Load(), s.donesSent.Load(),
		s.donesReceived.Load(), s.donesIgnored.Load(), s.donesMissed.Load(), s.padded.Load(), s.withheld.Load(),
		s.unserved.Load(), s.waited.Load(), s.tooLong.Load(), s.exceeded.Load(), s.heldUp.Load(),
	}
}
