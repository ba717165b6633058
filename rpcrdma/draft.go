package rpcrdma

// draft is what a connection has for the dialect of draft-ietf-nfsv4-rpcrdma-08 alone. The path of
// RFC 8166 does not come here. What it is for is in the files whose names begin with draft.
//
// Conn.mu guards it.
type draft struct {
	doubts map[uint32]int // by transaction id, long messages being fetched that may be replies
	late   int            // replies whose DONE did not come in time
}
