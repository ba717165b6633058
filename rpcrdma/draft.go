package rpcrdma

// draft is what a connection does in the dialect Draft beyond RFC 8166. In RFC 8166, Conn.draft is
// nil. It is entered from, in the order of a call's life:
//
//	receiver    done and doubt take RDMA_DONEs, and long messages that may be a reply
//	            (draftdone.go, draftdoubt.go)
//	flow        pins count the replies that are to be read (draftpins.go); expired takes one back
//	            when the peer takes too long (draftdone.go)
//	reply       pad and readInstead lay a reply out that is padded or has a read list; awaitsDone
//	            and endWindows end it (draftpadding.go, draftreads.go, draftdone.go)
//	caller      readReply takes a reply with a read list (draftfetch.go)
//
// The lengths in returned write chunks include the round-up, too (section 3.7).
type draft struct {
	conn *Conn
	pins pins // guarded by the budget's mu

	// Conn.mu guards what follows.
	doubts  map[uint32]int // by XID, long messages being fetched that may be replies
	forced  *incoming      // one of these that has memory beyond the budget
	inDoubt []*incoming    // those that wait for the end of forced
	late    int            // replies whose RDMA_DONE did not come in time
}

func newDraft(c *Conn) *draft {
	return &draft{conn: c, pins: pins{flow: &c.flow}, doubts: make(map[uint32]int)}
}
