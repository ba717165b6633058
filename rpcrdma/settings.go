package rpcrdma

// Settings are values that the two ends of a connection may change while it is up, with the
// Connection Configuration Protocol (draft section 6.2; package confproto). Sizes are those of
// whole Sends in bytes, headers included. Each direction of calls has its own sizes, because each
// end may configure its own calls.
type Settings struct {
	MaxSend      int // the largest call that this side sends inline
	MaxRecv      int // the largest reply that this side expects inline
	MaxReplySend int // the largest reply that this side sends inline
	MaxCallRecv  int // the largest call that this side expects inline
	Reads        int // RDMA Reads that this side may have under way at the peer; 0: none
	PeerReads    int // RDMA Reads that the peer may have under way here; 0: none
	Align        int // alignment of this side's receives in bytes; 0: none
	PeerAlign    int // alignment in bytes of opaque data sent to the peer; 0: no padding
}
