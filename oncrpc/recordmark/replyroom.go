package recordmark

// replyRoom limits the memory of the replies of a connection whose peer does not read them. The
// length of a reply is unknown until it exists, so a call being executed counts as maxExpected
// bytes. A finished reply counts as what it and its call take, or as nothing if that is at most
// uncounted.
//
// When there is no room for another call, none is read. That wait always ends, because there is
// always room for one call. So it waits only for calls and replies of the same connection, which
// end by their handlers, by the peer, or by Config.WriteTimeout. Therefore no queue in the budget
// is needed. Conn.mu guards it.
type replyRoom struct {
	share  *share // nil if unlimited
	making int    // calls being executed
	large  int    // bytes of unsent replies and their calls
	has    int    // bytes taken from share, given back when no call is pending
}

const (
	// maxExpected is how many bytes a call and its reply are expected to take at most, not counting
	// what the call's record has reserved: the data of a READ.
	maxExpected = 1 << 20
	// uncounted is the length in bytes up to which a reply and its call are limited only by their
	// number.
	uncounted = 4 << 10
)

// forAnother reports whether there is room for the reply to another call.
func (r *replyRoom) forAnother() bool {
	taken := r.making*maxExpected + r.large
	if r.share == nil || taken == 0 {
		return true
	}
	missing := taken + maxExpected - r.has
	if missing > 0 {
		if !r.share.TryReserve(int64(missing)) {
			return false
		}
		r.has += missing
	}
	return true
}

// made notes that a call has been executed and that its reply, if any, is in.out.
func (r *replyRoom) made(in *incoming) {
	r.making--
	n := in.out.len
	if in.rec.share == nil {
		n += cap(in.rec.data)
	}
	if n > uncounted {
		in.large = n
		r.large += n
	}
}

// left notes that a reply has been sent or cannot be sent any more, and whether no call is pending.
func (r *replyRoom) left(large int, idle bool) {
	r.large -= large
	if idle && r.has > 0 {
		r.share.release(r.has)
		r.has = 0
	}
}
