package rpcrdma

// draft is what a connection does in the dialect Draft beyond RFC 8166. In RFC 8166, Conn.draft is
// nil. It is entered from, in the order of a call's life:
//
//	receiver    pinned.done takes RDMA_DONEs, and ambiguous.take long messages that may be a reply
//	            (draftdone.go, draftambiguous.go)
//	incoming    pinned.withholds holds calls back; pin counts a reply that is to be read, or
//	            withholds it; release and endWindows end it (draftpinned.go, draftdone.go)
//	reply       readInstead lays a reply out with a read list (draftreads.go); awaitsDone keeps it
//	            (draftdone.go)
//	responder   pinned.expire takes a reply back when the peer takes too long (draftdone.go)
//	budget      pinned.recall takes one back because others wait for memory (draftdone.go)
//	caller      newReplyFetch takes a reply with a read list (draftfetch.go)
//
// The lengths in returned write chunks include the round-up, too (section 3.7), and messages are
// padded (section 3.9): see internal/wire.
type draft struct {
	pinned    pinnedReplies
	ambiguous ambiguousReads
}

func newDraft(l *link, cl *caller, rs *responder) *draft {
	return &draft{
		pinned:    pinnedReplies{rs: rs},
		ambiguous: ambiguousReads{l: l, cl: cl, rs: rs, byXID: make(map[uint32]int)},
	}
}
