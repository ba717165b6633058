package rpcrdma

// Stats counts what has happened on a connection.
type Stats struct {
	CallsSent     uint64 // calls of this side
	CallsReceived uint64 // calls of the peer
	Cancelled     uint64 // calls of this side cancelled before their reply
	LateReplies   uint64 // replies to cancelled calls
	UnknownXID    uint64 // replies and errors that belong to no call of this side
	Malformed     uint64 // messages with an invalid header or chunk list
	BadVersion    uint64 // messages of another version
	ErrorsSent    uint64 // RDMA_ERRORs sent
	ErrorsRecv    uint64 // RDMA_ERRORs received
	DonesSent     uint64 // RDMA_DONEs sent
	DonesReceived uint64 // RDMA_DONEs that acknowledged a reply
	DonesIgnored  uint64 // RDMA_DONEs that acknowledged nothing
	DonesMissed   uint64 // replies taken back without RDMA_DONE: PeerTimeout, or others waited
	Padded        uint64 // RDMA_MSGPs received
	Withheld      uint64 // replies that waited for RDMA_DONEs of earlier ones
	Unserved      uint64 // calls answered PROG_UNAVAIL because nothing serves the connection
	Waited        uint64 // calls that waited for memory, or for their host's share of it
	TooLong       uint64 // replies longer than the caller offered room for, or than MaxMessage
	Exceeded      uint64 // 1 if the peer sent more than was granted, which ended the connection
	HeldUp        uint64 // times that the peer's messages waited for memory or the host's share
}
